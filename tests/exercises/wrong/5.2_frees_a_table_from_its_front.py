"""Gives a table back from its first block on.

caught by: test_the_block_that_has_been_free_for_longest_is_taken_first
code: frees_from_the_front
"""

from collections import Counter


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id, times in Counter(block_ids).items():
            if not 0 <= block_id < self.num_blocks or times > self.holders[block_id]:
                raise ValueError(f"block {block_id} is not held so often")
        for block_id in block_ids:
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
