"""In turn, whatever the requests are. Default of nginx, and of Kubernetes Services in IPVS mode."""

from __future__ import annotations

from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class RoundRobin(Router):
    """The replica with the next higher number; after the last, the first. It needs no report."""

    def __init__(self) -> None:
        super().__init__()
        self.last = -1

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        numbers = sorted(view.replica for view in views)
        self.last = next((n for n in numbers if n > self.last), numbers[0])
        return self.last
