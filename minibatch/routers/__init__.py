"""Which replica of an engine gets the next request: one small interface, and each router on a page.

    router.choose(request, views)  ->  the number of a replica, one of the views'

A router sees an `Incoming` request and a `ReplicaView` of each replica, and nothing else. The same
objects route in the simulated fleet (simulator/fleet/) and on a real one.

view.py                   what a router knows: `Incoming`, `ReplicaView`, and the base class
round_robin.py            RoundRobin: in turn
random_replica.py         Random: any replica, with equal probability
least_requests.py         LeastRequests: the fewest requests, waiting and running
power_of_two.py           PowerOfTwo: two at random, and the one of them with fewer requests
least_uncached_tokens.py  LeastUncachedTokens: the fewest prompt tokens left to compute
prefix_affinity.py        PrefixAffinity: the cached prefix, minus the load
consistent_hash.py        ConsistentHash: a session stays, also when replicas come and go
sticky.py                 StickyUntilSaturated: a session stays until its replica is full
"""

from .consistent_hash import ConsistentHash
from .least_requests import LeastRequests
from .least_uncached_tokens import LeastUncachedTokens
from .power_of_two import PowerOfTwo
from .prefix_affinity import PrefixAffinity
from .random_replica import Random
from .round_robin import RoundRobin
from .sticky import StickyUntilSaturated
from .view import Incoming, ReplicaView, Router

__all__ = [
    "ConsistentHash",
    "Incoming",
    "LeastRequests",
    "LeastUncachedTokens",
    "PowerOfTwo",
    "PrefixAffinity",
    "Random",
    "ReplicaView",
    "RoundRobin",
    "Router",
    "StickyUntilSaturated",
]
