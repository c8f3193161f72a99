"""Looks at each block when its turn comes.

caught by: test_misuse_is_refused_and_changes_nothing
code: frees_one_by_one
"""


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id in reversed(block_ids):
            if not 0 <= block_id < self.num_blocks or not self.holders[block_id]:
                raise ValueError(block_id)
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
