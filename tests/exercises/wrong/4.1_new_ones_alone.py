"""A step that computes prompts leaves out those who decode.

caught by: test_each_running_sequence_gets_a_row_in_every_step
code: runner_stands_still
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        new = []
        while self.waiting and len(self.running) < self.max_batch_size:
            new.append(self.admit(now, self.waiting[0].max_num_tokens))
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in new or self.running])
