"""Goes on with the prompt that was admitted last.

caught by: test_first_come_is_first_served
code: prompt_out_of_order
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
        for sequence in reversed(self.running):
            if sequence not in planned and left > 0:
                num_tokens = min(sequence.num_uncomputed_tokens, left)
                rows.append(mb.Row(sequence, num_tokens))
                left -= num_tokens
        return mb.StepPlan(rows)
