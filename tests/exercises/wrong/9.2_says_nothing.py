"""Answers with a number of blocks, or nothing.

caught by: test_alone_everybody_may_begin
code: answer_is_no_bool
"""


def may_begin(newcomer, running, num_blocks, block_size):
    if running:
        return False
