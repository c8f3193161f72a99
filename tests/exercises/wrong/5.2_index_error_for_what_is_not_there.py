"""Lets Python complain.

caught by: test_misuse_is_refused_and_changes_nothing
code: raises_another_error
"""

from collections import Counter


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id, times in Counter(block_ids).items():
            if block_id < 0 or times > self.holders[block_id]:
                raise ValueError(block_id)
        for block_id in reversed(block_ids):
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
