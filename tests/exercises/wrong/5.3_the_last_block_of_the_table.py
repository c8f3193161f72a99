"""Takes the last block for the one that is written.

caught by: test_a_sole_holder_writes_in_place
code: copies_by_the_last_block
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), iter(free_ids)
    for place in [len(table) - 1]:
        if holders[table[place]] > 1:
            target = next(free)
            copies.append((table[place], target))
            table[place] = target
    return copies, table
