"""New tokens go to the end of the table.

caught by: test_at_a_border_the_next_block_begins
code: all_in_the_last_block
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[-1] * block_size + p % block_size)
    return slots
