"""Counts each row's new tokens from 0.

caught by: test_the_table_says_in_which_block_a_token_lies
code: position_counts_new_tokens
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, n in zip(block_tables, num_tokens, strict=True):
        for k in range(n):
            p = k
            slots.append(table[p // block_size] * block_size + p % block_size)
    return slots
