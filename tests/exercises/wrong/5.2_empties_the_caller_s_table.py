"""Takes the blocks out of the list it was given.

caught by: test_any_walk_leaves_the_books_as_ours
code: changes_the_callers_list
"""

from collections import Counter


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id, times in Counter(block_ids).items():
            if not 0 <= block_id < self.num_blocks or times > self.holders[block_id]:
                raise ValueError(f"block {block_id} is not held so often")
        while block_ids:
            block_id = block_ids.pop()
            self.holders[block_id] -= 1
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
