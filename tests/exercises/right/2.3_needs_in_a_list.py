"""Notes what each one needs, and then makes the rows."""

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
        return mb.StepPlan(
            [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        )
