"""Puts a free block back once more, with 0 holders.

caught by: test_misuse_is_refused_and_changes_nothing
code: frees_twice_at_zero
"""


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id in reversed(block_ids):
            self.holders[block_id] = max(0, self.holders[block_id] - 1)
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
