"""Any replica, with equal probability. What a Kubernetes Service does in iptables mode."""

from __future__ import annotations

from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class Random(Router):
    """The baseline: it needs no report, so no report can be too old for it."""

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        return self.random.choice(views).replica
