"""Several replicas of one engine behind a router: `mb.Fleet`.

fleet.py      what a fleet consists of; `run` serves some traffic
loop.py       its events, in order of time
replica.py    one replica: what it was sent, and its reports, which reach the router late
backends.py   what serves a replica's requests: the fast simulator, or the real engine
kv_events.py  what enters and leaves a prefix cache, as events for the router
outcome.py    what became of each request, and what each replica did and cost
"""

from .fleet import Failure, Fleet
from .outcome import FleetRun, Life

__all__ = ["Failure", "Fleet", "FleetRun", "Life"]
