"""Counts positions from 1.

caught by: test_the_table_says_in_which_block_a_token_lies
code: position_is_one_more
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k + 1
            slots.append(table[min(p // block_size, len(table) - 1)] * block_size + p % block_size)
    return slots
