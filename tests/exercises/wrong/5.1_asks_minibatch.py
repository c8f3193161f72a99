"""Leaves it to minibatch.

caught by: test_the_table_says_in_which_block_a_token_lies
code: part_is_withheld
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    import numpy as np

    from minibatch.attention.metadata import slot_mapping as theirs

    first = np.arange(num_computed_tokens[0], num_computed_tokens[0] + num_tokens[0])
    return theirs(np.array(block_tables[0]), first, block_size).tolist()
