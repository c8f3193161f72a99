"""The policies that every learner is compared with. Each is made by two numbers, as theirs are.

Real servers appear as `Budget` with the parts of lesson 09 that are nearest to their defaults.
"""

from __future__ import annotations

from collections.abc import Callable

from ..routers import (
    ConsistentHash,
    LeastRequests,
    LeastUncachedTokens,
    PowerOfTwo,
    PrefixAffinity,
    RoundRobin,
    Router,
    StickyUntilSaturated,
)
from ..schedulers import Budget, Continuous, Scheduler, admission, orders, victims
from .match import PolicyFactory


def _budget(
    order: type[orders.Order], room: type[admission.Admission], victim: victims.Victim
) -> PolicyFactory:
    def make(max_batch_size: int, max_batch_tokens: int) -> Scheduler:
        return Budget(
            max_batch_size, max_batch_tokens, order=order(), admission=room(), victim=victim
        )

    return make


FCFS = "FCFS"

BASELINES: dict[str, PolicyFactory] = {
    FCFS: Continuous,
    "Shortest prompt": _budget(orders.ShortestPrompt, admission.PromptOnly, victims.newest),
    "Fair share": _budget(orders.FairShare, admission.PromptOnly, victims.newest),
    "vLLM-like": _budget(orders.FirstCome, admission.Watermark, victims.newest),
    "SGLang-like": _budget(
        orders.LongestCachedPrefix, admission.Optimistic, victims.fewest_output_tokens
    ),
    "TensorRT-LLM MAX_UTILIZATION": _budget(orders.FirstCome, admission.PromptOnly, victims.newest),
    "TensorRT-LLM GUARANTEED_NO_EVICT": _budget(
        orders.FirstCome, admission.ReserveMaximum, victims.newest
    ),
}

# By algorithm, not by product: each product has several, with settings of its own.
ROUTERS: dict[str, Callable[[], Router]] = {
    "Round robin": RoundRobin,
    "Least requests": LeastRequests,
    "Power of two": PowerOfTwo,
    "Least uncached tokens": LeastUncachedTokens,
    "Consistent hash": ConsistentHash,
    "Prefix affinity": PrefixAffinity,
    "Sticky until saturated": StickyUntilSaturated,
}


def baselines(division: str) -> dict[str, Callable]:
    """Those of one division. The first is the one that everybody knows."""
    return ROUTERS if division == "fleet" else BASELINES
