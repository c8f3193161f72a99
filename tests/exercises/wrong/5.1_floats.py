"""Divides by /.

caught by: test_the_table_says_in_which_block_a_token_lies
code: slots_are_floats
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[int(p / block_size)] * float(block_size) + p % block_size)
    return slots
