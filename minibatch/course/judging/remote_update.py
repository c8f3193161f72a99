"""A learner's `update` in a worker, while the judge decides which requests run."""

from __future__ import annotations

import minibatch as mb
from minibatch.course.judging.advances import check_left
from minibatch.course.judging.remote_scheduler import RemoteScheduler


class RemoteUpdateScheduler(RemoteScheduler):
    """The learner's `update` alone: this class plans, first come first served.

    most_tokens: of one row, so that a long prompt takes several steps. padding: of each row. lends:
    whether the lists that `update` gets are read-only.
    """

    def __init__(
        self,
        *args: object,
        most_tokens: int = 10_000,
        padding: int = 0,
        lends: bool = False,
        **options: object,
    ) -> None:
        super().__init__(*args, **options)
        self.most_tokens, self.padding, self.lends = most_tokens, padding, lends

    def plan(self, now: float) -> mb.StepPlan:
        joining, free = [], self.pool.num_free
        for sequence in self.waiting:
            free -= sequence.num_new_blocks(sequence.max_num_tokens, self.pool.block_size)
            if free < 0 or len(self.running) + len(joining) == self.max_batch_size:
                break
            joining.append(sequence)
        rows = [
            mb.Row(s, min(s.num_uncomputed_tokens, self.most_tokens), self.padding)
            for s in reversed([*self.running, *joining])
        ]
        counts = [[row.sequence.request_id, row.num_tokens, row.num_padding_tokens] for row in rows]
        state = self._ask(
            "use_plan", now=now, num_admitted=len(joining), rows=counts, lends=self.lends
        )
        self._follow(state, now)
        return mb.StepPlan(rows)

    def update(self, plan: mb.StepPlan, tokens: list[list[int]], now: float) -> list[mb.Sequence]:
        finished = super().update(plan, tokens, now)
        check_left(self.num_steps, finished, self.running)
        return finished
