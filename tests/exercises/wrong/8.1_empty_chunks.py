"""Gives everybody a row, also when nothing is left for it.

caught by: test_a_prompt_longer_than_the_budget_is_completed
code: row_of_no_tokens
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
        left = self.max_batch_tokens - len(rows)
        while self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            self.admit(now, longest)
        planned = [row.sequence for row in rows]
        for sequence in self.running:
            if sequence not in planned:
                num_tokens = min(sequence.num_uncomputed_tokens, left)
                rows.append(mb.Row(sequence, num_tokens))
                left -= num_tokens
        return mb.StepPlan(rows)
