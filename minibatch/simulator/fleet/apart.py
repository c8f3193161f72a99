"""Prefill and decode apart: some replicas compute prompts, the others generate the answers.

    router ── prefill replica: the prompt ── K and V, first token ──> decode replica: the rest

A long prompt then delays no token of another answer. But K and V must be moved, and neither kind of
replica can help the other. (Zhong et al., "DistServe", OSDI 2024; Patel et al., "Splitwise", ISCA
2024.) The prefill replica generates the first token in any case; `first_token_from` says which
replica sends it to the client, and so whether the transfer is part of TTFT or comes after it.
Not simulated: blocks that a prefill replica holds until the transfer has ended; transfers share no
bandwidth; a transfer does not overlap with the prefill.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ...core.checks import check_number, integer
from ...routers import Incoming, LeastRequests, ReplicaView, Router
from ...schedulers import Scheduler


@dataclass(frozen=True)
class Apart:
    """The first `num_prefill` replicas compute prompts; the others decode, and serve the requests
    that are not split.

    A transfer takes (kv_bytes_per_token · prompt tokens) / bytes_per_s + latency_s. from_tokens: a
    prompt with fewer uncached tokens is not split: a decode replica serves all of it. router: of
    decode replicas; None is `LeastRequests`. policy: of prefill replicas; None is the fleet's.

    first_token_from: "prefill", and the client gets it before the transfer (DistServe); or
    "decode", and the client gets it when the decode replica has K and V and gives the request a
    slot (SGLang; vLLM's decode instance computes it again, which takes one step more).
    """

    num_prefill: int
    kv_bytes_per_token: int
    bytes_per_s: float
    latency_s: float = 0.0
    from_tokens: int = 0
    router: Router | None = None
    policy: Scheduler | None = None
    first_token_from: Literal["prefill", "decode"] = "prefill"

    def __post_init__(self) -> None:
        integer("num_prefill", self.num_prefill, at_least=1)
        integer("from_tokens", self.from_tokens, at_least=0)
        integer("kv_bytes_per_token", self.kv_bytes_per_token, at_least=0)
        if not self.bytes_per_s > 0:
            raise ValueError(f"bytes_per_s is {self.bytes_per_s}; give a bandwidth above 0")
        check_number("latency_s", self.latency_s, "be 0 or more seconds", lambda x: x >= 0)
        if self.first_token_from not in ("prefill", "decode"):
            raise ValueError(
                f'first_token_from is {self.first_token_from!r}; give "prefill" or "decode"'
            )

    def transfer_s(self, num_tokens: int) -> float:
        """Seconds to move the K and V of this many tokens."""
        return num_tokens * self.kv_bytes_per_token / self.bytes_per_s + self.latency_s

    def splits(
        self, request: Incoming, prefill: Sequence[ReplicaView], decode: Sequence[ReplicaView]
    ) -> bool:
        """Whether to compute the prompt on another replica than the answer. Your own rule replaces
        this method. prefill, decode: the replicas that can be chosen, at least one each.
        """
        return min(view.uncached_tokens(request) for view in prefill) >= self.from_tokens

    def decode_router(self) -> Router:
        """The router for decode replicas."""
        return LeastRequests() if self.router is None else self.router
