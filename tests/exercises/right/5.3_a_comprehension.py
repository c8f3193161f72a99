"""Decides first, then pairs."""


def copy_on_write(block_table, holders, free_ids, num_computed_tokens, num_tokens, block_size):
    ends = range(num_computed_tokens, num_computed_tokens + num_tokens)
    places = sorted({p // block_size for p in ends} & set(range(len(block_table))))
    due = [place for place in places if holders[block_table[place]] >= 2]
    new = dict(zip(due, free_ids, strict=False))
    return [(block_table[i], b) for i, b in new.items()], [
        new.get(i, b) for i, b in enumerate(block_table)
    ]
