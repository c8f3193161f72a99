"""Notes when blocks were freed outside the pool: a new pool goes on with it.

caught by: test_a_block_is_free_when_its_last_holder_has_left
code: new_pool_is_not_new
"""

freed_at = {}


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        for block_id in sorted(self.free_ids, key=lambda block_id: freed_at.get(block_id, -1)):
            self.free_ids.remove(block_id)
            self.free_ids.append(block_id)
        return super().allocate(num_blocks)

    def free(self, block_ids):
        super().free(block_ids)
        freed_at.update((block_id, len(freed_at)) for block_id in reversed(block_ids))
