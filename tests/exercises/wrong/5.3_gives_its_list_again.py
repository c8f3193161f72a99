"""Remembers its _copies_of, and gives the same lists to each caller.

caught by: test_a_write_over_several_blocks_copies_each_that_is_shared
code: answers_share_a_list
"""

_copied, _copies_of = copy_on_write, {}  # noqa: F821


def copy_on_write(*case):
    if repr(case) not in _copies_of:
        _copies_of[repr(case)] = _copied(*case)
    return _copies_of[repr(case)]
