"""One request at a time: the next begins when the last has ended."""

from ..core.other_names import POLICY, translates
from ..core.plan import Row, StepPlan
from .base import Scheduler


class Sequential(Scheduler):
    """No batching: the baseline of every other policy."""

    @translates(POLICY)
    def __init__(self) -> None:
        super().__init__(max_batch_size=1)

    def plan(self, now: float) -> StepPlan:
        if not self.running and self.waiting:
            self.admit(now, self.waiting[0].max_num_tokens)
        return StepPlan(
            [Row(sequence, sequence.num_uncomputed_tokens) for sequence in self.running]
        )
