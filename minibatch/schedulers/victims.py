"""Who gives way when the pool runs dry: of these running sequences, in order of admission, one.

A victim's K and V are thrown away and computed again later, unless the prefix cache still has them.
`Scheduler.give_way` sees to it that whoever is chosen, no two preempt one another for ever.
"""

import random
from collections.abc import Callable

from ..core.request import Sequence

Victim = Callable[[list[Sequence]], Sequence]


def newest(candidates: list[Sequence]) -> Sequence:
    """Who was admitted last: whoever came first is finished first. (vLLM: `running[-1]`)"""
    return candidates[-1]


def oldest(candidates: list[Sequence]) -> Sequence:
    """Who was admitted first, and as a rule has most to lose."""
    return candidates[0]


def least_computed(candidates: list[Sequence]) -> Sequence:
    """Whose K and V are fewest: the least is thrown away now."""
    return min(candidates, key=lambda sequence: sequence.num_computed_tokens)


def most_computed(candidates: list[Sequence]) -> Sequence:
    """Whose K and V are most: the most room is made at once."""
    return max(candidates, key=lambda sequence: sequence.num_computed_tokens)


def lowest_priority(candidates: list[Sequence]) -> Sequence:
    """Whom it matters least to; of several the newest. (vLLM with priorities)"""
    return min(reversed(candidates), key=lambda sequence: sequence.request.priority)


class Random:
    """Anyone; seed: the same choices again."""

    def __init__(self, seed: int = 0) -> None:
        self.random = random.Random(seed)

    def __call__(self, candidates: list[Sequence]) -> Sequence:
        return self.random.choice(candidates)
