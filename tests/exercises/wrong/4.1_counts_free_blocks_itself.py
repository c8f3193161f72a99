"""Keeps its own count of free blocks, which does not hear of a request that is given up.

caught by: test_an_aborted_request_leaves_its_blocks
code: blocks_of_one_given_up
"""

import minibatch as mb


class MyContinuous(MyContinuous):  # noqa: F821
    free = None

    def plan(self, now):
        size = self.pool.block_size
        if self.free is None:
            self.free, self.held = self.pool.num_free, {}
        for name in [name for name, (s, _) in self.held.items() if s.is_finished]:
            self.free += self.held.pop(name)[1]
        rows = [mb.Row(s, s.num_uncomputed_tokens) for s in self.running]
        while self.waiting and len(self.running) < self.max_batch_size:
            longest = self.waiting[0].max_num_tokens
            needed = -(-longest // size)
            if needed > self.free:
                break
            sequence = self.admit(now, longest)
            self.free -= needed
            self.held[sequence.request_id] = sequence, needed
            rows.append(mb.Row(sequence, sequence.num_uncomputed_tokens))
        return mb.StepPlan(rows)
