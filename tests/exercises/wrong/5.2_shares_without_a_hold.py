"""Sharing changes nothing.

caught by: test_a_block_is_free_when_its_last_holder_has_left
code: share_adds_nothing
"""


class MyPool(MyPool):  # noqa: F821
    def share(self, block_ids):
        for block_id in block_ids:
            if not 0 <= block_id < self.num_blocks or not self.holders[block_id]:
                raise ValueError
