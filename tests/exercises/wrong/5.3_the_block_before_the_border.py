"""Begins with the last token that is computed.

caught by: test_only_blocks_that_are_written_are_copied
code: copies_the_full_block_before
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), iter(free_ids)
    first = max(0, num_computed_tokens - 1) // block_size
    end = -(-(num_computed_tokens + num_tokens) // block_size)
    for place in range(first if num_tokens else end, min(end, len(table))):
        if holders[table[place]] > 1:
            target = next(free)
            copies.append((table[place], target))
            table[place] = target
    return copies, table
