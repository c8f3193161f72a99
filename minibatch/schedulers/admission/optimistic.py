"""Promise a share of the longest answer. The share falls in every step without a preemption; after
a preemption it is set to what the running requests have used."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...core.request import Sequence
from .room import Admission

if TYPE_CHECKING:
    from ..base import Scheduler


class Optimistic(Admission):
    """ratio: the promised share of the tokens that an answer may still get. It falls by equal steps
    to `least` within `num_steps` steps. (SGLang's new-token ratio: 0.7, to 0.14 of that, 600)

    After a preemption the ratio is what the running requests have used of their longest answers,
    and `ahead` tokens more for each.
    """

    def __init__(
        self, ratio: float = 0.7, least: float = 0.098, num_steps: int = 600, ahead: int = 20
    ) -> None:
        if not 0 <= least <= ratio <= 1:
            raise ValueError(f"ratio is {ratio}, least is {least}; give 0 <= least <= ratio <= 1")
        self.ratio = self.first_ratio = ratio
        self.least, self.ahead = least, ahead
        self.fall = (ratio - least) / num_steps

    def num_tokens(self, sequence: Sequence) -> int:
        left = max(0, sequence.max_num_tokens - sequence.num_tokens)
        return sequence.num_tokens + math.ceil(self.ratio * left)

    def learn(self, scheduler: Scheduler, preempted: bool) -> None:
        running = scheduler.running
        if preempted and running:
            used = sum(s.num_output_tokens + self.ahead for s in running)
            self.ratio = min(1.0, used / sum(s.request.max_tokens for s in running))
        else:
            self.ratio = max(self.least, self.ratio - self.fall)

    def reset(self) -> None:
        self.ratio = self.first_ratio
