"""Takes the tokens out of the lists that the engine goes on using.

caught by: test_the_engine_keeps_its_lists
code: changes_the_callers_list
"""


class MyContinuous(MyContinuous):  # noqa: F821
    def update(self, plan, tokens, now):
        for row, new in zip(plan.rows, tokens, strict=True):
            mine = []
            while new:
                mine.append(new.pop(0))
            row.sequence.advance(row.num_tokens, mine, now)
        finished = [s for s in self.running if s.is_finished]
        for s in finished:
            self.running.remove(s)
            self.pool.free(s.block_table)
            s.block_table = []
        return finished
