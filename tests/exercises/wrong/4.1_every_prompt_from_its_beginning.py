"""Gives whoever joins a row of its whole prompt, also of what is computed already.

caught by: test_who_joins_computes_what_is_not_computed_yet
says: 16 of them are computed already
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while (
            self.waiting
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        ):
            s = self.admit(now, self.waiting[0].max_num_tokens)
            rows.append(mb.Row(s, s.num_prompt_tokens))
        return mb.StepPlan(rows)
