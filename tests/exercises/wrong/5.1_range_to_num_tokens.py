"""Takes how many are computed for a range's end.

caught by: test_the_table_says_in_which_block_a_token_lies
code: other_number_of_slots
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for p in range(start, n):
            slots.append(table[p // block_size] * block_size + p % block_size)
    return slots
