"""Never says yes.

caught by: test_alone_everybody_may_begin
says: A waits for ever, though nobody runs
"""


def may_begin(newcomer, running, num_blocks, block_size):
    return False
