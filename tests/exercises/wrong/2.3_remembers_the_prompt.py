"""Takes the prompt's length at admission for what is to be computed, and one token ever after.

caught by: test_asked_twice_it_plans_the_same_rows
code: plans_differ_when_asked_twice
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while (
                self.waiting
                and len(self.running) < self.max_batch_size
                and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
            ):
                self.admit(now, self.waiting[0].max_num_tokens)
            needs = [s.num_prompt_tokens for s in self.running]
        else:
            needs = [0 if s.is_finished else 1 for s in self.running]
        longest = max(needs, default=0)
        return mb.StepPlan(
            [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        )
