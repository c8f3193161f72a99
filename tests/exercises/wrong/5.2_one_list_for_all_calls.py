"""Answers with one list, which the next call changes.

caught by: test_it_allocates_only_free_blocks
code: blocks_change_later
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        taken = self.__dict__.setdefault("taken", [])
        taken[:] = super().allocate(num_blocks)
        return taken
