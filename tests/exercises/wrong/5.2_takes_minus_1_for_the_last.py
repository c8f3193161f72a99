"""Has no look at the number.

caught by: test_misuse_is_refused_and_changes_nothing
code: counts_from_the_end
"""

from collections import Counter


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id, times in Counter(block_ids).items():
            if block_id >= self.num_blocks or times > self.holders[block_id]:
                raise ValueError(block_id)
        for block_id in reversed(block_ids):
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
