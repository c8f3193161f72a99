"""Looks all rows up in the first table.

caught by: test_rows_follow_one_another_each_with_its_own_table
code: first_rows_table
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for _, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(block_tables[0][p // block_size] * block_size + p % block_size)
    return slots
