"""Request-level batching: form a batch, run it until its last member has finished, form the next.

Rows are kept equal by padding, as in a rectangular tensor: short prompts up to the longest, and a
finished sequence's slot until the batch ends. The padding is planned here and really computed.
"""

from ..core.plan import Row, StepPlan
from ..core.request import Sequence
from .base import Scheduler


class Static(Scheduler):
    """Takes what is waiting, up to `max_batch_size`, at once. (FasterTransformer's policy)

    Each member holds blocks for its longest possible answer, from the start to the batch's end.
    """

    def plan(self, now: float) -> StepPlan:
        if not self.running:
            self.form_batch(now)
        return StepPlan(self.padded_rows())

    def form_batch(self, now: float) -> None:
        """Admit from the queue's head until the batch is full, the pool is full, or none waits."""
        while self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break  # the pool is full; this request opens the next batch
            self.admit(now, longest)

    def padded_rows(self) -> list[Row]:
        """A row for every member, all of the longest one's length; a finished member's is all
        padding."""
        distances = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(distances, default=0)
        return [Row(s, n, longest - n) for s, n in zip(self.running, distances, strict=True)]

    def retire(self, finished: list[Sequence]) -> None:
        """No member leaves before all have finished."""
        if all(sequence.is_finished for sequence in self.running):
            super().retire(list(self.running))

    def abort(self, sequence: Sequence) -> None:
        super().abort(sequence)
        self.retire([])  # the batch may have waited for this one only
