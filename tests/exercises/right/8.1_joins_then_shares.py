"""Fills the slots first, and then shares the budget: some who run have no row yet."""

import minibatch as mb


class MyBudget(MyBudget):  # noqa: F821
    def plan(self, now):
        while self.waiting and len(self.running) < self.max_batch_size:
            if not self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens):
                break
            self.admit(now, self.waiting[0].max_num_tokens)
        shares, left = {}, self.max_batch_tokens
        for sequence in sorted(self.running, key=lambda s: s.num_output_tokens == 0):
            shares[sequence] = min(sequence.num_uncomputed_tokens, left)
            left -= shares[sequence]
        return mb.StepPlan([mb.Row(s, n) for s, n in shares.items() if n])
