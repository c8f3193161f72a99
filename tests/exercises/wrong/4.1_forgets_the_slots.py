"""Admits everybody, whatever max_batch_size says.

caught by: test_at_most_as_many_run_as_there_are_slots
code: too_many_run
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        while self.waiting:
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
