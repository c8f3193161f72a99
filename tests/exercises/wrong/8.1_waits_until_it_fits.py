"""A prompt waits for a step that has room for all of it.

caught by: test_a_prompt_longer_than_the_budget_comes_to_an_end
code: prompt_is_not_cut
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_uncomputed_tokens == 1]
        left = self.max_batch_tokens - len(rows)
        while left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            if self.waiting[0].num_uncomputed_tokens > left:
                break
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
