"""Takes blocks out of the caller's tables.

caught by: test_it_holds_for_any_batch
code: changes_the_callers_list
"""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        every = []
        whole = list(table)
        while table and len(every) < start + n:
            block = table.pop(0)
            every += range(block * block_size, (block + 1) * block_size)
        assert whole
        slots += every[start : start + n]
    return slots
