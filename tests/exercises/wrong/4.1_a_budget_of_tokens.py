"""Adds a token budget of 64 out of a blog post (max_num_batched_tokens).

caught by: test_several_may_join_in_the_same_step
code: budget_of_tokens
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        budget = 64 - sum(row.num_tokens for row in rows)
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].num_uncomputed_tokens
            if n > budget and rows:
                break
            if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                break
            s = self.admit(now, self.waiting[0].max_num_tokens)
            budget -= n
            rows.append(mb.Row(s, n))
        return mb.StepPlan(rows)
