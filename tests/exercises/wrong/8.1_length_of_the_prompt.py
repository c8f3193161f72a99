"""Cuts by the prompt's length, also when a part of it is computed.

caught by: test_a_prompt_longer_than_the_budget_comes_to_an_end
code: computes_more_than_is_left
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running if s.num_output_tokens]
        left = self.max_batch_tokens - len(rows)
        for sequence in self.running:
            if not sequence.num_output_tokens and left > 0:
                rows.append(mb.Row(sequence, min(sequence.num_prompt_tokens, left)))
                left -= rows[-1].num_tokens
        while left > 0 and self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            num_tokens = min(sequence.num_uncomputed_tokens, left)
            rows.append(mb.Row(sequence, num_tokens))
            left -= num_tokens
        return mb.StepPlan(rows)
