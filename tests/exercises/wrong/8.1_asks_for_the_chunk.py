"""Asks the pool for the first chunk, and takes blocks for all.

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: asks_for_the_prompt
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
        while left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], min(self.waiting[0].num_tokens, left)):
                break
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
