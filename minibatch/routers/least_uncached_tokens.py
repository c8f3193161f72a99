"""The fewest prompt tokens to compute: those in flight, and this request's own.

A count of requests knows no lengths, and a cached prefix costs nothing. Both are in this sum: the
prefill work between the request and its first token. (llm-d's second stage since 2026-08; the idea
is in its issue llm-d-router 298.)
"""

from __future__ import annotations

from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class LeastUncachedTokens(Router):
    """The replica where the fewest uncached prompt tokens must be computed until this request has
    its first token. count_sent: add those of requests sent since the report."""

    def __init__(self, count_sent: bool = False, seed: int = 0) -> None:
        super().__init__(seed)
        self.count_sent = count_sent

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        def cost(view: ReplicaView) -> tuple[int, int]:
            sent = view.num_sent_tokens if self.count_sent else 0
            tokens = view.num_uncached_tokens + sent + view.uncached_tokens(request)
            return tokens, view.num_requests + view.num_sent * self.count_sent

        return self.least(views, cost).replica
