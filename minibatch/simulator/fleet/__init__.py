"""Several replicas of one engine behind a router: `mb.Fleet`.

fleet.py        what a fleet consists of; `run` serves some traffic
loop.py         its events, in order of time, and what becomes of each request
scaling.py      what happens to replicas: they start, fail, drain, and are stopped
replica.py      one replica: what it was sent, and its reports, which reach the router late
backends.py     what serves a replica's requests: the fast simulator, or the real engine
kv_events.py    what enters and leaves a prefix cache, as events for the router
columns.py      what is known of each request while a fleet runs
outcome.py      what became of each request, and what each replica did and cost
apart.py        prefill and decode on different replicas
autoscaling.py  how many replicas there shall be
sessions.py     traffic for prefix caches: sessions about a few manuals
day.py          traffic of one day
distserve.py    a published comparison of prefill and decode apart, run again
"""

from . import distserve
from .apart import Apart
from .autoscaling import Autoscaler, KVUse, Load, OngoingRequests, QueueTokens
from .day import day
from .fleet import Failure, Fleet
from .outcome import FleetRun, Life
from .sessions import sessions

__all__ = [
    "Apart",
    "Autoscaler",
    "Failure",
    "Fleet",
    "FleetRun",
    "KVUse",
    "Life",
    "Load",
    "OngoingRequests",
    "QueueTokens",
    "day",
    "distserve",
    "sessions",
]
