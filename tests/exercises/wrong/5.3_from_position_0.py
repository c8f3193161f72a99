"""Forgets what is computed.

caught by: test_a_shared_block_is_copied_before_it_is_written
code: writes_from_position_zero
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), iter(free_ids)
    first = 0
    end = -(-num_tokens // block_size)
    for place in range(first, min(end, len(table))):
        if holders[table[place]] > 1:
            target = next(free)
            copies.append((table[place], target))
            table[place] = target
    return copies, table
