"""Returns them the other way round.

caught by: test_a_shared_block_is_copied_before_it_is_written
code: copies_and_table_swapped
"""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    copies, table = [], list(block_table)
    places = {p // block_size for p in range(num_computed_tokens, num_computed_tokens + num_tokens)}
    for place in sorted(places):
        if place < len(table) and holders[table[place]] > 1:
            target = free_ids[len(copies)]
            copies.append((table[place], target))
            table[place] = target
    return table, copies
