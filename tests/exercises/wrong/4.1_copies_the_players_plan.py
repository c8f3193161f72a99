"""Copies the loop that the player shows, with can_admit, which mb.Scheduler does not have.

caught by: test_a_prompt_is_computed_whole_in_one_row
code: borrows_can_admit
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.can_admit():
            s = self.admit(now, self.waiting[0].max_num_tokens)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)
