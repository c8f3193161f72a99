"""Treats a prompt like a decode step.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: joiners_prompt_in_pieces
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, 1) for s in self.running])
