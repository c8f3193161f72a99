"""Prefill and decode apart: some replicas compute prompts, the others generate the answers.

    client ── prefill replica: prompt, first token ── K and V ──> decode replica: the rest

A long prompt then delays nobody's next token, but K and V must be moved, and neither kind of
replica can help the other. (Zhong et al., "DistServe", OSDI 2024; Patel et al., "Splitwise", ISCA
2024.) Not simulated: blocks that a prefill replica holds until the transfer has ended; transfers
share no bandwidth; a transfer does not overlap with the prefill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...core.checks import check_number, integer
from ...routers import Incoming, LeastRequests, ReplicaView, Router
from ...schedulers import Scheduler


@dataclass(frozen=True)
class Apart:
    """The first `num_prefill` replicas compute prompts; the others decode, and serve what is whole.

    A transfer takes (kv_bytes_per_token · prompt tokens) / bytes_per_s + latency_s. from_tokens: a
    prompt with fewer uncached tokens is not split: a decode replica serves all of it. router: of
    decode replicas; None is `LeastRequests`. policy: of prefill replicas; None is the fleet's.
    """

    num_prefill: int
    kv_bytes_per_token: int
    bytes_per_s: float
    latency_s: float = 0.0
    from_tokens: int = 0
    router: Router | None = None
    policy: Scheduler | None = None

    def __post_init__(self) -> None:
        integer("num_prefill", self.num_prefill, at_least=1)
        integer("from_tokens", self.from_tokens, at_least=0)
        integer("kv_bytes_per_token", self.kv_bytes_per_token, at_least=0)
        if not self.bytes_per_s > 0:
            raise ValueError(f"bytes_per_s is {self.bytes_per_s}; give a bandwidth above 0")
        check_number("latency_s", self.latency_s, "be 0 or more seconds", lambda x: x >= 0)

    def transfer_s(self, num_tokens: int) -> float:
        """Seconds to move the K and V of so many tokens."""
        return num_tokens * self.kv_bytes_per_token / self.bytes_per_s + self.latency_s

    def splits(
        self, request: Incoming, prefill: Sequence[ReplicaView], decode: Sequence[ReplicaView]
    ) -> bool:
        """Whether to compute the prompt on another replica than the answer. A rule of your own
        replaces this method. prefill, decode: the replicas that can be chosen, at least one each.
        """
        return min(view.uncached_tokens(request) for view in prefill) >= self.from_tokens

    def decode_router(self) -> Router:
        """The router for decode replicas."""
        return LeastRequests() if self.router is None else self.router
