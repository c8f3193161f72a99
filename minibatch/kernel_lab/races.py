"""Data races: two threads, one element, one of them writes, and nothing orders the two."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from math import prod

import numpy as np

from .arrays import ATOMIC, READS, WRITES, Access, Watched
from .faults import Notes
from .threads import WARP


def find_races(array: Watched, notes: Notes) -> None:
    """Adds to the notes: races within a block, and elements that blocks do not share well.

    Barriers order the threads of a block, `syncwarp` those of a warp; a shuffle orders nothing.
    Nothing orders two blocks of one launch, so what one writes is no other's to read or to write.
    """
    if all(access.how == READS for access in array.accesses):
        return
    size = prod(notes.threads)
    meets: dict[tuple, list[Access]] = defaultdict(list)  # what no barrier keeps apart
    for access in array.accesses:
        block = access.thread // size
        for place in access.places:
            meets[place, "all blocks", 0].append(access)
            meets[place, block, access.epoch].append(access)
    for (place, within, _), touched in meets.items():
        across = within == "all blocks"
        hows = {access.how for access in touched}
        actors = {access.thread // size if across else access.thread for access in touched}
        if len(actors) == 1 or hows in ({READS}, {ATOMIC}):
            continue
        pairs = combinations(touched, 2)
        pair = next((pair for pair in pairs if _conflict(*pair, size, across)), None)
        if pair:
            _report(array, notes, place, pair, across)


def _conflict(first: Access, second: Access, size: int, across: bool) -> bool:
    """Whether two accesses to one element, that came in this order here, could come in another."""
    if first.thread == second.thread or (first.how == second.how and first.how != WRITES):
        return False
    (block, rank), (other_block, other_rank) = (divmod(a.thread, size) for a in (first, second))
    lane = rank % WARP
    has_heard = rank // WARP == other_rank // WARP and second.clock[lane] >= first.clock[lane]
    return block != other_block if across else not has_heard


def _report(
    array: Watched, notes: Notes, place: int, pair: tuple[Access, Access], across: bool
) -> None:
    index = ", ".join(str(int(n)) for n in np.unravel_index(place, array.shape))
    did = ", ".join(
        f"{_who(access.thread, notes)} {('reads', 'writes', 'updates')[access.how]} it in line "
        f"{access.site.line}"
        for access in pair
    )
    why = "nothing orders blocks" if across else "no barrier comes between"
    # the write is the more telling line; of two writes, the later
    other, telling = pair if pair[1].how != READS else pair[::-1]
    what = f"{array.name} {other.site.line} {across}"
    said = f"{array.name}[{index}]: {did}, and {why}"
    notes.fault("race", said, telling.site, other.site, what=what)


def _who(number: int, notes: Notes) -> str:
    block, index = divmod(number, prod(notes.threads))
    (x, y), wide = (block % notes.grid[0], block // notes.grid[0]), notes.grid[1]
    return f"thread {index} of block {(x, y % wide, y // wide)}"
