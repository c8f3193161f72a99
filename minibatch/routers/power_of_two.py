"""Two replicas at random, and the less loaded of them. The default of Ray Serve and of Envoy.

Two samples are nearly as good as all, and with old reports often better: a replica that looks empty
gets only a part of the requests. (Mitzenmacher, "The power of two choices in randomized load
balancing", 2001; "How useful is old information?", 2000)
"""

from __future__ import annotations

from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class PowerOfTwo(Router):
    """Of two replicas chosen at random, the one with fewer requests. count_sent: as for
    `LeastRequests`."""

    def __init__(self, count_sent: bool = False, seed: int = 0) -> None:
        super().__init__(seed)
        self.count_sent = count_sent

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        pair = self.random.sample(views, min(2, len(views)))
        return min(pair, key=lambda v: v.num_requests + v.num_sent * self.count_sent).replica
