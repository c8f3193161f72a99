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
from .faults import SITES, Notes
from .threads import WARP, block_name

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
    columns, size = array.columns, prod(notes.threads)
    if not columns.how.any():
        return
    suspects = array.chosen(_suspects(columns, size, across=False))
    found = races_within_blocks(suspects, size)
    if array.space == "global":
        suspects = array.chosen(_suspects(columns, size, across=True))
        found += races_across_blocks(suspects, size)
    for race in found:
        _report(array, notes, race)


def _suspects(columns: np.recarray, size: int, across: bool) -> np.ndarray:
    """Which accesses to look at: those to elements that one has written, or updated, and two have
    touched: two threads of a block between two barriers, or, across, two blocks."""
    rows = np.repeat(np.arange(len(columns)), columns.number)
    ends = np.cumsum(columns.number)[rows]
    place = columns.place[rows] + columns.number[rows] - (ends - np.arange(len(rows)))
    thread, key = columns.thread[rows], place
    who = thread // size if across else thread
    if not across:
        epochs = columns.epoch.max() + 1
        key = (place * (thread.max() // size + 1) + thread // size) * epochs + columns.epoch[rows]
    order = np.argsort(key, kind="stable")
    begins = np.flatnonzero(np.diff(key[order], prepend=-1))
    of_each = [
        np.repeat(reduce.reduceat(each[order], begins), np.diff(begins, append=len(order)))
        for reduce, each in ((np.minimum, who), (np.maximum, who), (np.maximum, columns.how[rows]))
    ]
    is_one = (of_each[0] < of_each[1]) & (of_each[2] > READS)
    return np.unique(rows[order[is_one]])


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
    visits = [_visit(array, access) for access in race[1:3]]
    did = [
        f"{('reads', 'writes', 'updates')[access.how]} it in line {access.site.line}"
        + (f" for the {_nth(visit)} time" if max(visits) > 1 else "")
        for access, visit in zip(race[1:3], visits, strict=True)
    ]
    # the write is the more telling line; of two writes, the later
    other, telling = race.first, race.second
    if race.second.how == READS:
        other, telling = telling, other
        visits.reverse()
    who = f"{_who(race.first.thread, notes)} {did[0]}, "
    if race.across:
        why = f"{_who(race.second.thread, notes)} {did[1]}, and nothing orders thread blocks"
    else:
        rank = race.second.thread % prod(notes.threads)
        why = f"thread {rank} {did[1]}, and no barrier comes between"
        if other.how == READS:  # a write that comes in a later round must wait for the reads
            after = other if visits[1] > visits[0] else telling
            why += f": one is missing after line {after.site.line}"
    what = f"{array.name} {other.site.line} {race.across}"
    said = f"{array.name}[{index}]: {who}{why}"
    notes.fault("race", said, telling.site, other.site, what=what)


def _who(number: int, notes: Notes) -> str:
    block, index = divmod(number, prod(notes.threads))
    (x, y), wide = (block % notes.grid[0], block // notes.grid[0]), notes.grid[1]
    return f"thread {index} of {block_name((x, y % wide, y // wide))}"


def _visit(array: Watched, access: Access) -> int:
    """How often its thread had touched that element there by then."""
    columns = array.columns
    same = columns[(columns.thread == access.thread) & (columns.place == access.place)]
    same = same[[SITES[site] == access.site for site in same.site]]
    own = ("epoch", access.epoch), ("phase", access.phase), ("how", access.how)
    return int(np.argmax(np.all([same[name] == value for name, value in own], axis=0))) + 1


def _nth(number: int) -> str:
    return ("first", "second", "third")[number - 1] if number < 4 else f"{number}th"
