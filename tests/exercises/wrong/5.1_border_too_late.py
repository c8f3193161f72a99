"""The first token of a block counts as the last one's.

caught by: test_at_a_border_the_next_block_begins
code: next_block_one_token_late
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[max(0, p - 1) // block_size] * block_size + p % block_size)
    return slots
