"""Gives as many as there are.

caught by: test_it_hands_out_free_blocks_and_no_more
code: gives_fewer
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        taken = [self.free_ids.popleft() for _ in range(min(num_blocks, len(self.free_ids)))]
        for block_id in taken:
            self.holders[block_id] = 1
        return taken
