"""The race finder as its definition reads: every pair of accesses to one element is looked at."""

from collections import defaultdict
from itertools import combinations

from minibatch.kernel_lab.arrays import ATOMIC, READS, WRITES

WARP = 32


def races_by_definition(accesses, size):
    """Where a race is, and the first pair that makes it, in the order of first touches.

    accesses: of one array, in their order. size: threads of a block.
    Where: (place, block, epoch) within a block; (place, None, None) across blocks.
    """
    meets = defaultdict(list)
    for access in accesses:
        for place in range(access.place, access.place + access.number):
            meets[place, None, None].append(access)
            meets[place, access.thread // size, access.epoch].append(access)
    found = {}
    for where, touched in meets.items():
        across = where[1] is None
        pairs = (pair for pair in combinations(touched, 2) if can_swap(*pair, size, across))
        if pair := next(pairs, None):
            found[where] = pair
    return found


def can_swap(first, second, size, across):
    """Whether two accesses to one element, that came in this order here, could come in another."""
    if first.thread == second.thread:
        return False
    if WRITES not in (hows := {first.how, second.how}) and hows != {READS, ATOMIC}:
        return False
    (block, rank), (other_block, other_rank) = (divmod(a.thread, size) for a in (first, second))
    if across:
        return block != other_block
    lane = rank % WARP
    return rank // WARP != other_rank // WARP or second.clock[lane] < first.clock[lane]
