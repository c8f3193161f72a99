"""Leaves out the block that is not filled.

caught by: test_a_shared_block_is_copied_before_it_is_written
code: rounds_the_end_down
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table = [], list(block_table)
    end = (num_computed_tokens + num_tokens) // block_size
    for place in range(num_computed_tokens // block_size, min(end, len(table))):
        if holders[table[place]] > 1:
            target = free_ids[len(copies)]
            copies.append((table[place], target))
            table[place] = target
    return copies, table
