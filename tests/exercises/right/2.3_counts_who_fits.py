"""Counts beforehand how many fit, then admits them and pads by hand."""

import minibatch as mb


class MyStatic(MyStatic):  # noqa: F821
    def plan(self, now):
        if len(self.running) == 0:
            free, fitting = self.pool.num_free, 0
            for sequence in list(self.waiting)[: self.max_batch_size]:
                free -= -(-sequence.max_num_tokens // self.pool.block_size)
                if free < 0:
                    break
                fitting += 1
            for _ in range(fitting):
                self.admit(now, self.waiting[0].max_num_tokens)
        rows = [
            mb.Row(s, 0 if s.is_finished else s.num_tokens - s.num_computed_tokens)
            for s in self.running
        ]
        for row in rows:
            row.num_padding_tokens = max(other.num_tokens for other in rows) - row.num_tokens
        return mb.StepPlan(rows)
