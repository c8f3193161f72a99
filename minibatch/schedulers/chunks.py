"""One budget divided among several prompts: how many tokens of each are computed in this step.

Each function is given what the prompts still need, in order of admission, and the tokens of the
budget. It returns a share for each. (TensorRT-LLM's two ContextChunkingPolicies)
"""

from collections.abc import Callable, Sequence

Chunks = Callable[[Sequence[int], float], list[int]]


def first_come_first_served(needs: Sequence[int], budget: float) -> list[int]:
    """The first gets all it needs, the next what is left, and so on."""
    shares = []
    for need in needs:
        shares.append(min(need, budget))
        budget -= shares[-1]
    return shares


def equal_progress(needs: Sequence[int], budget: int) -> list[int]:
    """The same share for each. What a short prompt does not need goes to the others; a remainder
    goes to the first."""
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
