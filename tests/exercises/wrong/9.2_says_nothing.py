"""Answers with a number of blocks, or nothing.

caught by: test_alone_everybody_may_begin
says: returns nothing (None); say True or False
"""


def may_begin(newcomer, running, num_blocks, block_size):
    if running:
        return False
