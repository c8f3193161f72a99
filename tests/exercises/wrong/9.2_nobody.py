"""Never says yes.

caught by: test_a_request_alone_is_always_admitted
code: waits_for_ever
"""


def may_begin(newcomer, running, num_blocks, block_size):
    return False
