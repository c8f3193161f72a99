"""Takes the longest for the answer's.

caught by: test_alone_everybody_may_begin
says: max_num_tokens has both
"""


def may_begin(newcomer, running, num_blocks, block_size):
    everyone = [*running, newcomer]
    return sum(-(-(n + most) // block_size) for n, most in everyone) <= num_blocks
