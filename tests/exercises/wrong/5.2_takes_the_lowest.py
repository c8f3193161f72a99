"""Takes the lowest number that is free.

caught by: test_the_block_that_has_been_free_for_longest_is_taken_first
code: lowest_number_first
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        if num_blocks > len(self.free_ids):
            raise MemoryError
        taken = sorted(self.free_ids)[:num_blocks]
        for block_id in taken:
            self.free_ids.remove(block_id)
            self.holders[block_id] = 1
        return taken
