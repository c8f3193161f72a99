"""Changes first, and puts back what it has changed."""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        taken = []
        while len(taken) < num_blocks:
            if not self.free_ids:
                self.free_ids.extend(taken)
                raise MemoryError(num_blocks)
            taken.append(self.free_ids.popleft())
        for block in taken:
            self.holders[block] += 1
        return taken

    def share(self, block_ids):
        done = []
        for block in block_ids:
            if block not in range(self.num_blocks) or not self.holders[block]:
                for other in done:
                    self.holders[other] -= 1
                raise ValueError(block)
            self.holders[block] += 1
            done.append(block)

    def free(self, block_ids):
        before = self.holders[:], self.free_ids.copy()
        for block in reversed(list(block_ids)):
            if block < 0 or block >= self.num_blocks or self.holders[block] < 1:
                self.holders, self.free_ids = before
                raise ValueError(block)
            self.holders[block] -= 1
            if self.holders[block] == 0:
                self.free_ids.append(block)
