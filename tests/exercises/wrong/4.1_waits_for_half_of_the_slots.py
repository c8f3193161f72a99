"""Admits only when half of the slots are free.

caught by: test_a_free_slot_never_waits_for_the_others
says: slots stood empty
"""

import minibatch as mb


class MyContinuous(mb.Scheduler):
    def plan(self, now):
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        if self.max_batch_size - len(self.running) < self.max_batch_size // 2:
            return mb.StepPlan(rows)
        while self.waiting and len(self.running) < self.max_batch_size:
            n = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], n):
                break
            s = self.admit(now, n)
            rows.append(mb.Row(s, s.num_uncomputed_tokens))
        return mb.StepPlan(rows)

    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [sequence for sequence in self.running if sequence.is_finished]
        for sequence in finished:
            self.running.remove(sequence)
            self.pool.free(sequence.block_table)
            sequence.block_table = []
        return finished
