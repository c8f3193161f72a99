"""numpy: a rectangle of batches, NaN where the last has no slot."""

import numpy as np


def padding_share(output_lengths, max_batch_size):
    n = -(-len(output_lengths) // max_batch_size)
    grid = np.full(n * max_batch_size, np.nan)
    grid[: len(output_lengths)] = output_lengths
    grid = grid.reshape(n, max_batch_size)
    longest = np.nanmax(grid, axis=1, keepdims=True)
    return float(np.nansum(longest - grid) / np.nansum(longest + 0 * grid))
