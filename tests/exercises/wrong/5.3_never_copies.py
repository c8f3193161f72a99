"""Writes into shared blocks.

caught by: test_a_shared_block_is_copied_before_it_is_written
code: writes_into_a_shared_block
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), iter(free_ids)
    first = num_computed_tokens // block_size
    end = -(-(num_computed_tokens + num_tokens) // block_size) if num_tokens else first
    for place in range(first, min(end, len(table))):
        if False:
            target = next(free)
            copies.append((table[place], target))
            table[place] = target
    return copies, table
