"""Computes 16 tokens of a prompt at a time.

caught by: test_short_prompts_are_padded_to_the_longest
code: long_prompt_not_computed_whole
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                    break
                self.admit(now, self.waiting[0].max_num_tokens)
        needs = [0 if s.is_finished else min(16, s.num_uncomputed_tokens) for s in self.running]
        longest = max(needs, default=0)
        rows = [mb.Row(s, n, longest - n) for s, n in zip(self.running, needs, strict=True)]
        return mb.StepPlan(rows)
