"""Asks for each token whether its block was shared at first.

caught by: test_only_blocks_that_are_written_are_copied
code: copied_more_than_once
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table = [], list(block_table)
    for position in range(num_computed_tokens, num_computed_tokens + num_tokens):
        place = position // block_size
        if place < len(table) and holders[block_table[place]] > 1:
            target = free_ids[len(copies)]
            copies.append((block_table[place], target))
            table[place] = target
    return copies, table
