"""Leaves out members that have finished: the batch loses its shape.

caught by: test_a_finished_request_stays_as_padding
code: finished_has_no_row
"""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                    break
                self.admit(now, self.waiting[0].max_num_tokens)
        alive = [s for s in self.running if not s.is_finished]
        longest = max((s.num_uncomputed_tokens for s in alive), default=0)
        return mb.StepPlan(
            [mb.Row(s, s.num_uncomputed_tokens, longest - s.num_uncomputed_tokens) for s in alive]
        )
