"""Lays out every slot of a table, and cuts out the new ones."""


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for i in range(len(block_tables)):
        every = [b * block_size + j for b in block_tables[i] for j in range(block_size)]
        begin = num_computed_tokens[i]
        slots.extend(every[begin : begin + num_tokens[i]])
    return slots
