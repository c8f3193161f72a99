"""Makes the rows once for a batch.

caught by: test_short_prompts_are_padded_to_the_longest
code: row_of_an_earlier_step
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                n = self.waiting[0].max_num_tokens
                if not self.can_grow(self.waiting[0], n):
                    break
                self.admit(now, n)
        needs = [0 if s.is_finished else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        if not hasattr(self, "kept") or self.batch != list(self.running):
            self.batch = list(self.running)
            self.kept = [
                mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)
            ]
        return mb.StepPlan(self.kept)
