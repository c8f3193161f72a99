"""Never says yes.

caught by: test_alone_everybody_may_begin
code: waits_for_ever
"""


def may_begin(newcomer, running, num_blocks, block_size):
    return False
