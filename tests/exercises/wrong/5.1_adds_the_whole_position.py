"""Adds the position where the offset belongs.

caught by: test_the_table_says_in_which_block_a_token_lies
code: position_added_to_the_block
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[p // block_size] * block_size + p)
    return slots
