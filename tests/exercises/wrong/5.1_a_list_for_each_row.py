"""Returns a list of lists.

caught by: test_the_table_says_in_which_block_a_token_lies
code: slots_are_lists
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    return [
        [table[p // block_size] * block_size + p % block_size for p in range(start, start + n)]
        for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True)
    ]
