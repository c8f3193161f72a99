"""Leaves the holders at 0.

caught by: test_it_allocates_only_free_blocks
code: taker_holds_nothing
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        if num_blocks > len(self.free_ids):
            raise MemoryError
        return [self.free_ids.popleft() for _ in range(num_blocks)]
