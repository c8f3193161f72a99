"""A token's position is its place in the whole batch, past the first row's context.

caught by: test_rows_follow_one_another_each_with_its_own_table
code: position_in_the_whole_batch
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots, p = [], num_computed_tokens[0]
    for table, n in zip(block_tables, num_tokens, strict=True):
        for _ in range(n):
            slots.append(table[p // block_size] * block_size + p % block_size)
            p += 1
    return slots
