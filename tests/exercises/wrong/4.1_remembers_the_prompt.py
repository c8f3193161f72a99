"""Notes at admission what to compute, and forgets it when asked again.

caught by: test_asked_twice_it_plans_the_same_rows
code: plans_differ_when_asked_twice
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    def plan(self, now):
        rows = [mb.Row(s, 1) for s in self.running]
        while (
            self.waiting
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        ):
            s = self.admit(now, self.waiting[0].max_num_tokens)
            rows.append(mb.Row(s, s.num_prompt_tokens))
        return mb.StepPlan(rows)
