"""Data races: two threads, one element, one of them writes, and nothing orders the two.

One walk over an array's accesses, in the order in which they came, finds them: of all that was done
to an element it keeps only what a later access could still race with. So the work grows with the
number of accesses, not with the number of their pairs.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import NamedTuple

import numpy as np

from .arrays import ATOMIC, READS, WRITES, Access, Watched
from .faults import Notes
from .threads import WARP

RIVALS = {  # what two threads must not do to one element, unless something orders them
    READS: (WRITES, ATOMIC),
    WRITES: (READS, WRITES, ATOMIC),
    ATOMIC: (READS, WRITES),
}


class Race(NamedTuple):
    """Two accesses to the element at `place` of the flat array, in the order in which they came."""

    place: int
    first: Access
    second: Access
    across: bool  # by threads of two blocks


def find_races(array: Watched, notes: Notes) -> None:
    """Adds to the notes: races within a block, and elements that blocks do not share well.

    Barriers order the threads of a block, `syncwarp` those of a warp; a shuffle orders nothing.
    Nothing orders two blocks of one launch, so what one writes is no other's to read or to write.
    """
    if all(access.how == READS for access in array.accesses):
        return
    size = prod(notes.threads)
    found = races_within_blocks(array.accesses, size)
    if array.space == "global":
        found += races_across_blocks(array.accesses, size)
    for race in found:
        _report(array, notes, race)


def races_within_blocks(accesses: list[Access], size: int) -> list[Race]:
    """The first race of each element between any two barriers of a block of `size` threads.

    Of each thread its last access is kept: who comes after it comes after all that it did before.
    A write takes the place of all that it came after: who comes after it comes after them, too.
    """
    # (place, block, epoch) -> how -> thread -> its last access
    stretches: dict[tuple, tuple[dict[int, Access], ...]] = defaultdict(lambda: ({}, {}, {}))
    found: dict[tuple, Race] = {}
    for access in accesses:
        for place in access.places:
            stretch = (place, access.thread // size, access.epoch)
            last = stretches[stretch]
            if stretch in found:
                continue
            first = _rival(access, last, size)
            if first:
                found[stretch] = Race(place, first, access, across=False)
            if access.how == WRITES:
                for threads in last:
                    threads.clear()
            last[access.how][access.thread] = access
    return [found[stretch] for stretch in stretches if stretch in found]


def _rival(access: Access, last: tuple[dict[int, Access], ...], size: int) -> Access | None:
    """One of the last accesses that this one races with."""
    for how in RIVALS[access.how]:
        for other in last[how].values():
            if not _is_after(access, other, size):
                return other
    return None


def _is_after(later: Access, earlier: Access, size: int) -> bool:
    """Whether `syncwarp`s, or one thread's own order, keep two accesses of a block in theirs."""
    rank, other_rank = earlier.thread % size, later.thread % size
    lane = rank % WARP
    return rank // WARP == other_rank // WARP and later.clock[lane] >= earlier.clock[lane]


def races_across_blocks(accesses: list[Access], size: int) -> list[Race]:
    """The first race of each element between two blocks.

    They run here one after the other: if a block was the first to read an element, say, then nobody
    before it has.
    """
    elements: dict[int, dict[int, Access]] = defaultdict(dict)  # how -> the first who did so
    found: dict[int, Race] = {}
    for access in accesses:
        for place in access.places:
            firsts = elements[place]
            for how, first in firsts.items():
                is_other = first.thread // size != access.thread // size
                if is_other and how in RIVALS[access.how]:
                    found.setdefault(place, Race(place, first, access, across=True))
            firsts.setdefault(access.how, access)
    return [found[place] for place in elements if place in found]


def _report(array: Watched, notes: Notes, race: Race) -> None:
    index = ", ".join(str(int(n)) for n in np.unravel_index(race.place, array.shape))
    did = ", ".join(
        f"{_who(access.thread, notes)} {('reads', 'writes', 'updates')[access.how]} it in line "
        f"{access.site.line}"
        for access in (race.first, race.second)
    )
    why = "nothing orders blocks" if race.across else "no barrier comes between"
    # the write is the more telling line; of two writes, the later
    other, telling = race.first, race.second
    if race.second.how == READS:
        other, telling = telling, other
    what = f"{array.name} {other.site.line} {race.across}"
    said = f"{array.name}[{index}]: {did}, and {why}"
    notes.fault("race", said, telling.site, other.site, what=what)


def _who(number: int, notes: Notes) -> str:
    block, index = divmod(number, prod(notes.threads))
    (x, y), wide = (block % notes.grid[0], block // notes.grid[0]), notes.grid[1]
    return f"thread {index} of block {(x, y % wide, y // wide)}"
