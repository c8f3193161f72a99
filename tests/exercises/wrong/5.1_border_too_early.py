"""Changes to the next block one token early.

caught by: test_at_a_border_the_next_block_begins
code: next_block_one_token_early
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(
                table[min((p + 1) // block_size, len(table) - 1)] * block_size + p % block_size
            )
    return slots
