"""Keeps a book of fresh blocks, which a reset does not write again.

caught by: test_the_block_that_has_been_free_for_longest_is_taken_first
code: a_book_of_its_own
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        fresh = self.__dict__.setdefault("fresh", list(self.free_ids))
        for block_id in reversed(fresh):
            if block_id in self.free_ids:
                self.free_ids.remove(block_id)
                self.free_ids.appendleft(block_id)
        taken = super().allocate(num_blocks)
        self.fresh = [block_id for block_id in fresh if block_id not in taken]
        return taken
