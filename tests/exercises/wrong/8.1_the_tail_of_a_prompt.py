"""Takes whoever has written for a decode, and a prompt for more than a token.

caught by: test_a_prompt_longer_than_the_budget_comes_to_an_end
code: one_token_gets_no_row
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_output_tokens]
        left = self.max_batch_tokens - len(rows)
        for sequence in self.running:
            if sequence.num_uncomputed_tokens > 1 and left > 0:
                num_tokens = min(sequence.num_uncomputed_tokens, left)
                rows.append(mb.Row(sequence, num_tokens))
                left -= num_tokens
        while left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
