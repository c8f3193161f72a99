"""Which running sequence is preempted when the pool has no free block.

Each function is given the candidates, in order of admission, and returns one. The victim's K and V
are computed again later, unless the prefix cache still has them. `Scheduler.preempt_one` makes sure
that two sequences do not preempt each other without end, whatever these return.
"""

import random
from collections.abc import Callable

from ..core.request import Sequence

Victim = Callable[[list[Sequence]], Sequence]


def newest(candidates: list[Sequence]) -> Sequence:
    """The one admitted last, so that older ones finish first. (vLLM: `running[-1]`)"""
    return candidates[-1]


def oldest(candidates: list[Sequence]) -> Sequence:
    """The one admitted first, which as a rule loses most."""
    return candidates[0]


def least_computed(candidates: list[Sequence]) -> Sequence:
    """The one with the fewest computed tokens: this throws least away now."""
    return min(candidates, key=lambda sequence: sequence.num_computed_tokens)


def most_computed(candidates: list[Sequence]) -> Sequence:
    """The one with the most computed tokens: this frees most blocks at once."""
    return max(candidates, key=lambda sequence: sequence.num_computed_tokens)


def fewest_output_tokens(candidates: list[Sequence]) -> Sequence:
    """The one with the fewest output tokens; of several the longest prompt. (SGLang)"""
    return min(candidates, key=lambda s: (s.num_output_tokens, -s.num_prompt_tokens))


def lowest_priority(candidates: list[Sequence]) -> Sequence:
    """The one of lowest priority; of several the newest. (vLLM with priorities)"""
    return min(reversed(candidates), key=lambda sequence: sequence.request.priority)


class Random:
    """Any of them; the same seed makes the same choices."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.reset()

    def reset(self) -> None:
        """Begin the same choices again. Called by `Engine.reset`."""
        self.random = random.Random(self.seed)

    def __call__(self, candidates: list[Sequence]) -> Sequence:
        return self.random.choice(candidates)
