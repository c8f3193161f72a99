"""Knows one block size.

caught by: test_it_holds_for_any_batch
code: other_slots_in_blocks_of_one
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[p // 4] * 4 + p % 4)
    return slots
