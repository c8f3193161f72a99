"""The replica that has the most of the prompt cached, minus a term for its load.

    score = prefix · (cached tokens / prompt tokens)
          - queue · (waiting requests / most waiting of all replicas)
          - kv · (share of KV blocks in use)

The weights 3, 2, 2 are llm-d's. The threshold is that of SGLang's gateway and of vllm-router
(`cache_aware`): if the replica with the most requests has more than 64 above the one with the
fewest, and more than 1.5 times as many, the request goes to the one with the fewest.
`PrefixAffinity(queue=0, kv=0, most_apart=math.inf)` never looks at load: the default of Ray Serve
2.60's PrefixCacheAffinityRouter.
"""

from __future__ import annotations

from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class PrefixAffinity(Router):
    """The replica with the highest score; the one with the fewest requests while the fleet is out
    of balance. prefix, queue, kv: weights. most_apart, factor: both must be exceeded."""

    def __init__(
        self,
        prefix: float = 3.0,
        queue: float = 2.0,
        kv: float = 2.0,
        most_apart: float = 64,
        factor: float = 1.5,
        seed: int = 0,
    ) -> None:
        super().__init__(seed)
        self.prefix, self.queue, self.kv = prefix, queue, kv
        self.most_apart, self.factor = most_apart, factor

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        counts = [view.num_requests for view in views]
        if max(counts) - min(counts) > self.most_apart and max(counts) > self.factor * min(counts):
            return self.least(views, lambda view: view.num_requests).replica
        longest = max(1, *(view.num_waiting for view in views))

        def cost(view: ReplicaView) -> float:
            cached = view.cached_tokens(request) / request.num_tokens
            load = self.queue * view.num_waiting / longest + self.kv * view.kv_use
            return load - self.prefix * cached

        return self.least(views, cost).replica
