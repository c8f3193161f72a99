"""Mixes prompts and decodes, and cuts nothing.

caught by: test_no_step_computes_more_than_the_budget
code: long_prompt_is_not_cut
"""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            rows.append(mb.Row(sequence, sequence.num_uncomputed_tokens))
        return mb.StepPlan(rows)
