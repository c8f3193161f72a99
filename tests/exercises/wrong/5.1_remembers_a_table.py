"""Keeps the slots of a table by its identity, and does not look when it has changed.

caught by: test_it_holds_for_any_batch
code: remembers_an_earlier_call
"""

slots_of = {}


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        if id(table) not in slots_of:
            every = [block * block_size + i for block in table for i in range(block_size)]
            slots_of[id(table)] = table, every
        slots += slots_of[id(table)][1][start : start + n]
    return slots
