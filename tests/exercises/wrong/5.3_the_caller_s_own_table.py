"""Where nothing is copied, the table is the very list that came in.

caught by: test_a_write_over_several_blocks_copies_each_that_is_shared
code: table_is_the_callers
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], block_table, iter(free_ids)
    first = num_computed_tokens // block_size
    end = -(-(num_computed_tokens + num_tokens) // block_size) if num_tokens else first
    for place in range(first, min(end, len(table))):
        if holders[table[place]] > 1:
            copies.append((table[place], next(free)))
            table = [*table[:place], copies[-1][1], *table[place + 1 :]]
    return copies, table
