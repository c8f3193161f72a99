"""Copies the partly filled block, and no full one.

caught by: test_only_blocks_that_are_written_are_copied
code: copies_partly_filled_only
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), iter(free_ids)
    first = num_computed_tokens // block_size
    end = first + 1 if num_tokens and num_computed_tokens % block_size else first
    for place in range(first, min(end, len(table))):
        if holders[table[place]] > 1:
            target = next(free)
            copies.append((table[place], target))
            table[place] = target
    return copies, table
