"""Answers with a number of blocks, or nothing.

caught by: test_a_request_alone_is_always_admitted
code: answer_is_no_bool
"""


def may_begin(newcomer, running, num_blocks, block_size):
    if running:
        return False
