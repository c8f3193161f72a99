"""Counts down, and puts the block back whoever holds it still.

caught by: test_a_block_is_free_when_its_last_holder_has_left
code: frees_while_held
"""

from collections import Counter


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id, times in Counter(block_ids).items():
            if not 0 <= block_id < self.num_blocks or times > self.holders[block_id]:
                raise ValueError(f"block {block_id} is not held so often")
        for block_id in reversed(block_ids):
            self.holders[block_id] -= 1
            self.free_ids.append(block_id)
