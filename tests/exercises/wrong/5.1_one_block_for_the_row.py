"""Looks the table up once for each row.

caught by: test_at_a_border_the_next_block_begins
code: all_in_the_first_tokens_block
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[start // block_size] * block_size + p % block_size)
    return slots
