"""Calls super().

caught by: test_it_allocates_only_free_blocks
code: part_is_withheld
"""


class MyPool(MyPool):  # noqa: F821
    def allocate(self, num_blocks):
        return super(type(self).__mro__[1], self).allocate(num_blocks)
