"""A table of allocators, and running totals."""

import math
from itertools import accumulate

TAKES = {
    "maximum": lambda p, a, most, size: most,
    "power of two": lambda p, a, most, size: p + 2 ** math.ceil(math.log2(a)),
    "told": lambda p, a, most, size: p + a,
    "paged": lambda p, a, most, size: math.ceil((p + a) / size) * size,
}


def how_many_fit(allocator, requests, capacity, max_model_len, block_size):
    takes = (TAKES[allocator](p, a, max_model_len, block_size) for p, a in requests)
    return sum(total <= capacity for total in accumulate(takes))
