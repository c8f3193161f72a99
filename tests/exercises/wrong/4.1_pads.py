"""Makes rows equally long.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: rows_are_padded
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        m = max((r.num_tokens for r in rows), default=0)
        return mb.StepPlan([mb.Row(r.sequence, r.num_tokens, m - r.num_tokens) for r in rows])
