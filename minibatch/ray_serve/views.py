"""What our router knows of each replica: its last report, and what was sent there since.

    sent ───── sent ── report made ── sent ──── report read, next request
    `─ counted in the report ─´        `─ num_sent ─´

So a request that has ended since the report still counts: views are as old as reports, in the
simulated fleet as here.
"""

from __future__ import annotations

import importlib
import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from .. import routers
from ..core.request import Request
from ..routers import Incoming, ReplicaView, Router

NOT_ROUTERS = ("Incoming", "ReplicaView", "Router")


@dataclass(frozen=True, slots=True)
class Sent:
    """A request that has not ended. when: in seconds since the epoch."""

    replica: str
    num_tokens: int
    when: float


class Views:
    """Numbers the replicas, and asks a router. now: the clock."""

    def __init__(self, router: Router, now: Callable[[], float] = time.time) -> None:
        self.router, self.now = router, now
        self._numbers: dict[str, int] = {}
        self._sent: dict[str, Sent] = {}  # by Ray's name of the request

    def choose(
        self, name: str, request: Request, reports: Mapping[str, Mapping[str, object]]
    ) -> str:
        """The replica that gets the request. name: Ray's, of the request. reports: of each replica
        that can be chosen, by its name; empty until the first one comes."""
        views = [self.view(replica, report) for replica, report in reports.items()]
        incoming = Incoming.of(request, views[0].block_size)
        number = self.router.choose(incoming, views)
        view = next(view for view in views if view.replica == number)
        replica = next(name for name in reports if self._numbers[name] == number)
        self._sent[name] = Sent(replica, view.uncached_tokens(incoming), self.now())
        return replica

    def view(self, replica: str, report: Mapping[str, object]) -> ReplicaView:
        """Of one replica."""
        number = self._numbers.setdefault(replica, len(self._numbers))
        known = {key: value for key, value in report.items() if key != "time"}
        if "cached" in known:
            known["cached"] = frozenset(known["cached"])
        made = report.get("time", float("-inf"))
        sent = [
            each.num_tokens
            for each in self._sent.values()
            if each.replica == replica and each.when > made
        ]
        return ReplicaView(number, **known, num_sent=len(sent), num_sent_tokens=sum(sent))

    def ended(self, name: str) -> None:
        """A request has ended, in any way."""
        self._sent.pop(name, None)


def router_class(name: str) -> type[Router]:
    """One of minibatch.routers by its name, or "module:Class". Raises ValueError."""
    module, _, kind = name.rpartition(":")
    found = getattr(importlib.import_module(module) if module else routers, kind, None)
    if not isinstance(found, type) or not issubclass(found, Router) or found is Router:
        names = ", ".join(each for each in routers.__all__ if each not in NOT_ROUTERS)
        raise ValueError(
            f'router {name!r} is not known; choose {names}, or give your own as "module:Class"'
        )
    return found


def can_count_sent(router: type[Router]) -> bool:
    """Whether it can add what it has sent since the reports. Here they are a second old: then it
    should."""
    return "count_sent" in inspect.signature(router).parameters
