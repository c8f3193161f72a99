"""Never hands out the last block.

caught by: test_it_hands_out_free_blocks_and_no_more
code: keeps_one
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        if num_blocks >= len(self.free_ids):
            raise MemoryError
        taken = [self.free_ids.popleft() for _ in range(num_blocks)]
        for block_id in taken:
            self.holders[block_id] = 1
        return taken
