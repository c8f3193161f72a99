"""Lets people join in every second step only.

caught by: test_a_free_slot_never_waits_for_the_others
code: slots_stand_empty
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    its_turn = False

    def plan(self, now):
        self.its_turn = not self.its_turn
        may_join = self.its_turn or not self.running
        while may_join and self.waiting and len(self.running) < self.max_batch_size:
            if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                break
            self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan([mb.Row(s, s.num_uncomputed_tokens) for s in self.running])
