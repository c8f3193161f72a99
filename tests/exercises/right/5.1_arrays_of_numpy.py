"""Works on whole rows at a time, and makes a list at the end."""

import numpy as np


def slot_mapping(block_tables, num_computed_tokens, num_tokens, block_size):
    parts = []
    for table, start, n in zip(block_tables, num_computed_tokens, num_tokens, strict=True):
        positions = np.arange(start, start + n)
        blocks = np.array(table)[positions // block_size]
        parts.append(blocks * block_size + positions % block_size)
    return np.concatenate(parts).tolist()
