"""Slots of 32 bits.

caught by: test_it_holds_for_any_batch
code: slots_of_few_bits
"""

import numpy as np


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    slots = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        positions = np.arange(start, start + n, dtype=np.int32)
        blocks = np.array(table, dtype=np.int32)[positions // block_size]
        slots += (blocks * np.int32(block_size) + positions % block_size).tolist()
    return slots
