"""Returns inside the loop: only the first who has finished leaves.

caught by: test_whoever_has_finished_leaves_at_once_and_leaves_its_blocks
says: inside the loop
"""

import minibatch as mb


class MyContinuous(mb.Scheduler):
    def plan(self, now):
        rows = [mb.Row(sequence, sequence.num_uncomputed_tokens) for sequence in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            if not self.can_grow(self.waiting[0], longest):
                break
            sequence = self.admit(now, longest)
            rows.append(mb.Row(sequence, sequence.num_uncomputed_tokens))
        return mb.StepPlan(rows)

    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
            return finished
        return []
