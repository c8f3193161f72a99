"""Goes through the tokens; a block that was copied is its own from then on."""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    table, copies, mine = list(block_table), [], set()
    for position in range(num_computed_tokens, num_computed_tokens + num_tokens):
        place = position // block_size
        if place >= len(table):
            break
        block = table[place]
        if holders[block] > 1 and block not in mine:
            table[place] = free_ids[len(copies)]
            mine.add(table[place])
            copies.append([block, table[place]])
    return [copies, table]
