"""Does not pad prompts.

caught by: test_short_prompts_are_padded_to_the_longest
code: no_padding_at_all
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                    break
                self.admit(now, self.waiting[0].max_num_tokens)
        return mb.StepPlan(
            [
                mb.Row(s, 0, 1) if s.is_finished else mb.Row(s, s.num_uncomputed_tokens)
                for s in self.running
            ]
        )
