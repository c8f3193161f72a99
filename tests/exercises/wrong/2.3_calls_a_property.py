"""Calls is_finished as a method.

caught by: test_a_batch_takes_who_waits_up_to_its_size
code: calls_a_property
"""

import minibatch as mb


class MyStatic(mb.Scheduler):
    def plan(self, now):
        if not self.running:
            while self.waiting and len(self.running) < self.max_batch_size:
                s = self.waiting[0]
                if not self.can_grow(s, s.max_num_tokens):
                    break
                self.admit(now, s.max_num_tokens)
        needs = [0 if s.is_finished() else s.num_uncomputed_tokens for s in self.running]
        longest = max(needs, default=0)
        both = zip(self.running, needs, strict=True)
        return mb.StepPlan([mb.Row(s, n, longest - n) for s, n in both])

    def retire(self, finished):
        """Nobody leaves before everybody has finished."""
        if all(sequence.is_finished for sequence in self.running):
            super().retire(list(self.running))

    def abort(self, sequence):
        """A batch whose last unfinished member is given up has ended, too."""
        super().abort(sequence)
        self.retire([])
