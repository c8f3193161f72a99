"""LRU by when a block was allocated.

caught by: test_the_block_that_has_been_free_for_longest_is_taken_first
code: first_taken_first
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        if num_blocks > len(self.free_ids):
            raise MemoryError
        if not hasattr(self, "taken_at"):
            self.taken_at, self.now = dict.fromkeys(range(self.num_blocks), 0), 0
        taken = []
        for _ in range(num_blocks):
            block_id = min(self.free_ids, key=lambda i: self.taken_at[i])
            self.free_ids.remove(block_id)
            self.now += 1
            self.taken_at[block_id] = self.now
            self.holders[block_id] = 1
            taken.append(block_id)
        return taken
