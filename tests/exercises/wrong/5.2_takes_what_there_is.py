"""Takes blocks until there are none, and then complains.

caught by: test_it_allocates_only_free_blocks
code: takes_what_there_is
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        taken = []
        for _ in range(num_blocks):
            if not self.free_ids:
                raise MemoryError
            taken.append(self.free_ids.popleft())
            self.holders[taken[-1]] = 1
        return taken
