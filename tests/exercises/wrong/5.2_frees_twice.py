"""Puts back whatever it is given.

caught by: test_misuse_is_refused_and_changes_nothing
code: frees_twice
"""


class MyPool(MyPool):  # noqa: F821
    def free(self, block_ids):
        for block_id in reversed(block_ids):
            self.holders[block_id] -= 1
            if self.holders[block_id] <= 0:
                self.free_ids.append(block_id)
