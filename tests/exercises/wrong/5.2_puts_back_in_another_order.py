"""What it took before it found too few, it puts back the wrong way round.

caught by: test_it_allocates_only_free_blocks
code: refusal_moves_blocks
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        taken = []
        while len(taken) < num_blocks:
            if not self.free_ids:
                self.free_ids.extendleft(taken)
                raise MemoryError("too few")
            taken.append(self.free_ids.popleft())
        for b in taken:
            self.holders[b] = 1
        return taken
