"""Maps every token of the sequence.

caught by: test_the_table_says_in_which_block_a_token_lies
code: slots_of_the_cached_tokens_too
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for p in range(start + n):
            slots.append(table[p // block_size] * block_size + p % block_size)
    return slots
