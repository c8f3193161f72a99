"""Takes the pool's first blocks, not the table's.

caught by: test_the_table_says_in_which_block_a_token_lies
code: no_table_at_all
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for _, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append((p // block_size) * block_size + p % block_size)
    return slots
