"""Takes free blocks from the end.

caught by: test_a_shared_block_is_copied_before_it_is_written
code: takes_free_from_the_end
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table, free = [], list(block_table), list(free_ids)
    first = num_computed_tokens // block_size
    end = -(-(num_computed_tokens + num_tokens) // block_size) if num_tokens else first
    for place in range(first, min(end, len(table))):
        if holders[table[place]] > 1:
            target = free.pop()
            copies.append((table[place], target))
            table[place] = target
    return copies, table
