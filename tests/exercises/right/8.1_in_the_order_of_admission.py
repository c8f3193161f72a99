"""One loop over who runs: who was admitted earlier has computed more, so that decodes come first
by themselves."""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        rows, left = [], self.max_batch_tokens
        while True:
            planned = len(rows)
            for sequence in self.running[planned:]:
                num_tokens = min(sequence.num_uncomputed_tokens, left)
                if num_tokens:
                    rows.append(mb.Row(sequence, num_tokens))
                    left -= num_tokens
            has_slot = self.waiting and len(self.running) < self.max_batch_size
            if not left or not has_slot:
                return mb.StepPlan(rows)
            if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                return mb.StepPlan(rows)
            self.admit(now, self.waiting[0].max_num_tokens)
