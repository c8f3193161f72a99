"""Takes the longest for the answer's.

caught by: test_a_request_alone_is_always_admitted
code: answer_added_twice
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-(n + most) // block_size) for n, most in everyone) <= num_blocks
