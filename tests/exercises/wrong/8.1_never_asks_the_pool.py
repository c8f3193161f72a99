"""Admits whoever waits, whether the pool has room or not.

caught by: test_who_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: pool_never_asked
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
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
