"""Forgets how often a block is named.

caught by: test_misuse_is_refused_and_changes_nothing
code: counts_twins_once
"""


class MyPool(MyPool):  # noqa: F821
    def share(self, block_ids):
        for block_id in block_ids:
            if not 0 <= block_id < self.num_blocks or not self.holders[block_id]:
                raise ValueError(block_id)
        for block_id in block_ids:
            self.holders[block_id] += 1

    def free(self, block_ids):
        once = list(dict.fromkeys(block_ids))
        for block_id in once:
            if not 0 <= block_id < self.num_blocks or not self.holders[block_id]:
                raise ValueError(block_id)
        for block_id in reversed(once):
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
