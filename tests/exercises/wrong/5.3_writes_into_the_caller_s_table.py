"""Changes the table that it was given.

caught by: test_a_write_over_several_blocks_copies_each_that_is_shared
code: changes_the_callers_list
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], block_table, iter(free_ids)
    first = num_computed_tokens // block_size
    end = -(-(num_computed_tokens + num_tokens) // block_size) if num_tokens else first
    for place in range(first, min(end, len(table))):
        if holders[table[place]] > 1:
            target = next(free)
            copies.append((table[place], target))
            table[place] = target
    return copies, table
