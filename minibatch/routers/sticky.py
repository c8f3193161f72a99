"""A session stays on its replica until that is saturated; then the fewest uncached tokens decide.

llm-d's default since 2026-08 (its pull request 462). A replica is saturated with more than 5
waiting requests, or more than 80 % of its KV blocks in use: the defaults of llm-d's detector.
"""

from __future__ import annotations

from collections.abc import Sequence

from .least_uncached_tokens import LeastUncachedTokens
from .view import Incoming, ReplicaView


class StickyUntilSaturated(LeastUncachedTokens):
    """The session's last replica; without one, the replica with the longest cached prefix. If it is
    saturated, or there is none, the fewest uncached tokens among those that are not saturated, or
    among all. max_waiting, max_kv_use: more of either is saturated. count_sent: as for
    `LeastRequests`.
    """

    def __init__(
        self,
        max_waiting: int = 5,
        max_kv_use: float = 0.8,
        count_sent: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__(count_sent, seed)
        self.max_waiting, self.max_kv_use = max_waiting, max_kv_use
        self.replica_of: dict[str, int] = {}

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        free = [view for view in views if not self.is_saturated(view)]
        chosen = self._home(request, free)
        if chosen is None:
            chosen = super().choose(request, free or views)
        if request.session is not None:
            self.replica_of[request.session] = chosen
        return chosen

    def is_saturated(self, view: ReplicaView) -> bool:
        """Whether it should get no request that another replica can take."""
        waiting = view.num_waiting + view.num_sent * self.count_sent
        return waiting > self.max_waiting or view.kv_use > self.max_kv_use

    def _home(self, request: Incoming, views: Sequence[ReplicaView]) -> int | None:
        home = self.replica_of.get(request.session)
        if home is not None:
            return home if any(view.replica == home for view in views) else None
        lengths = [view.cached_tokens(request) for view in views]
        longest = max(lengths, default=0)
        tied = [view for view, n in zip(views, lengths, strict=True) if n == longest]
        return super().choose(request, tied) if longest else None
