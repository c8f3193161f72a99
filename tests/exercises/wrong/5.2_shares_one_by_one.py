"""Looks at each block when its turn comes.

caught by: test_misuse_is_refused_and_changes_nothing
code: shares_one_by_one
"""


class MyPool(MyPool):  # noqa: F821
    def share(self, block_ids):
        for block_id in block_ids:
            if not 0 <= block_id < self.num_blocks or not self.holders[block_id]:
                raise ValueError
            self.holders[block_id] += 1
