"""Nobody beside anybody.

caught by: test_it_is_no_slower_than_keeping_the_maximum
code: slots_stay_empty
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return len(everyone) == 1
