"""Admits nobody in a step that goes on with a prompt.

caught by: test_no_token_of_the_budget_lies_idle
code: nobody_joins_though_tokens_are_left
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
        left = self.max_batch_tokens - len(rows)
        for sequence in self.running:
            if sequence.num_uncomputed_tokens > 1 and left > 0:
                num_tokens = min(sequence.num_uncomputed_tokens, left)
                rows.append(mb.Row(sequence, num_tokens))
                left -= num_tokens
        if any(row.num_tokens > 1 for row in rows):
            return mb.StepPlan(rows)
        while left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
