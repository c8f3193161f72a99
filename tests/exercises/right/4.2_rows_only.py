"""Looks at the plan's rows alone, and leaves as it goes."""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        finished = []
        for row, new in zip(plan.rows, tokens, strict=True):
            sequence = row.sequence
            sequence.advance(row.num_tokens, new, now)
            if sequence.is_finished:
                finished.append(sequence)
                self.running.pop(self.running.index(sequence))
                while sequence.block_table:
                    self.pool.free([sequence.block_table.pop()])
        return finished
