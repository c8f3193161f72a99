"""Each block once, with all its holds: one that is named twice is freed at its last place.

caught by: test_any_walk_leaves_the_books_as_ours
code: frees_twins_by_the_last
"""

from collections import Counter


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id, times in Counter(block_ids).items():
            if not 0 <= block_id < self.num_blocks or times > self.holders[block_id]:
                raise ValueError(block_id)
        for block_id in dict.fromkeys(reversed(block_ids)):
            self.holders[block_id] -= list(block_ids).count(block_id)
            if self.holders[block_id] == 0:
                self.free_ids.append(block_id)
