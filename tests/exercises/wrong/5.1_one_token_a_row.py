"""Knows decode steps only.

caught by: test_the_table_says_in_which_block_a_token_lies
code: first_token_of_each_row
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    return [
        table[p // block_size] * block_size + p % block_size
        for table, p in zip(block_tables, num_computed_tokens, strict=True)
    ]
