"""Puts the new block behind the others.

caught by: test_a_shared_block_is_copied_before_it_is_written
code: new_block_stands_behind
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), iter(free_ids)
    first = num_computed_tokens // block_size
    end = -(-(num_computed_tokens + num_tokens) // block_size) if num_tokens else first
    for place in range(first, min(end, len(table))):
        if holders[table[place]] > 1:
            target = next(free)
            copies.append((table[place], target))
            table = [*table, target]
    return copies, table
