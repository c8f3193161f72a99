"""Does not count how often a block is named.

caught by: test_misuse_is_refused_and_changes_nothing
code: overlooks_twins_below_zero
"""


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id in block_ids:
            if not 0 <= block_id < self.num_blocks or self.holders[block_id] == 0:
                raise ValueError(block_id)
        for block_id in reversed(block_ids):
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
