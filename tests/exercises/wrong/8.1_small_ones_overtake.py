"""Looks for one who fits, wherever it stands in the queue.

caught by: test_a_request_that_does_not_fit_into_the_pool_waits_and_is_not_overtaken
code: later_one_overtakes
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
        while left > 0 and len(self.running) < self.max_batch_size:
            fitting = [s for s in self.waiting if self.can_grow(s, s.max_num_tokens)]
            if not fitting:
                break
            sequence = self.admit(now, fitting[0].max_num_tokens, fitting[0])
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
