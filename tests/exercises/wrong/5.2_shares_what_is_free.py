"""A free block can be held anew.

caught by: test_misuse_is_refused_and_changes_nothing
code: shares_the_free
"""


class MyPool(MyPool):  # noqa: F821
    def share(self, block_ids):
        for block_id in block_ids:
            if not 0 <= block_id < self.num_blocks:
                raise ValueError
        for block_id in block_ids:
            self.holders[block_id] += 1
