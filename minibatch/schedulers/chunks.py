"""Several prompts, one budget: how many tokens of each are computed in this step.

Each function is given what the prompts still need, in order of admission, and the tokens that may
be computed, and answers with a share for each. (TensorRT-LLM's two ContextChunkingPolicies)
"""

from collections.abc import Callable, Sequence

Chunks = Callable[[Sequence[int], int], list[int]]


def first_come_first_served(needs: Sequence[int], budget: int) -> list[int]:
    """The first one all it needs, the next what is left: the budget finishes one, then another."""
    shares = []
    for need in needs:
        shares.append(min(need, budget))
        budget -= shares[-1]
    return shares


def equal_progress(needs: Sequence[int], budget: int) -> list[int]:
    """The same for each; what a short one does not need is shared by the others, and what cannot be
    divided goes to the first."""
    shares = [0] * len(needs)
    by_need = sorted(range(len(needs)), key=lambda i: needs[i])
    for place, i in enumerate(by_need):
        shares[i] = min(needs[i], budget // (len(needs) - place))
        budget -= shares[i]
    for i, need in enumerate(needs):
        more = min(need - shares[i], budget)
        shares[i] += more
        budget -= more
    return shares
