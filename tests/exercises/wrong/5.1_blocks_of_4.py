"""Knows one block size.

caught by: test_it_holds_for_any_batch
says: blocks of 1
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        for k in range(n):
            p = start + k
            slots.append(table[p // 4] * 4 + p % 4)
    return slots
