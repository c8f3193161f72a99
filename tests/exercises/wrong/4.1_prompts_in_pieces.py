"""Computes 16 tokens of a prompt at a time, as engines do that mind the other rows.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: long_prompt_in_pieces
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                break
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, min(16, s.num_uncomputed_tokens)) for s in self.running])
