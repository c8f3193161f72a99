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

from .arrays import ATOMIC, READS, WRITES, Access, Watched, elements_of
from .faults import SITES, Notes
from .threads import WARP, thread_of

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
    for across in (False, True)[: 1 + (array.space == "global")]:
        for race in races(array.accesses(_suspects(columns, size, across)), size, across):
            _report(array, notes, race)


def _suspects(columns: np.recarray, size: int, across: bool) -> np.ndarray:
    """Which accesses to look at: those to elements that one has written, or updated, and two have
    touched: two threads of a block between two barriers, or, across, two blocks."""
    rows, place = elements_of(columns)
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


def races(accesses: list[Access], size: int, across: bool) -> list[Race]:
    """The first race of each element between any two barriers of a block of `size` threads; or,
    across, between two blocks.

    Of each thread its last access is kept: who comes after it comes after all that it did before.
    A write takes the place of all that it came after: who comes after it comes after them, too.
    Between blocks nothing comes after anything: of each its first access is kept.
    """
    # (place, block, epoch) -> how -> thread, or block -> its last access, or first
    stretches: dict[tuple, tuple[dict[int, Access], ...]] = defaultdict(lambda: ({}, {}, {}))
    found: dict[tuple, Race] = {}
    for access in accesses:
        block = access.thread // size
        for place in access.places:
            stretch = (place,) if across else (place, block, access.epoch)
            seen = stretches[stretch]
            if stretch in found:
                continue
            for other in (each for how in RIVALS[access.how] for each in seen[how].values()):
                if other.thread // size != block if across else not _is_after(access, other, size):
                    found[stretch] = Race(place, other, access, across)
                    break
            if across:
                seen[access.how].setdefault(block, access)
                continue
            if access.how == WRITES:
                for threads in seen:
                    threads.clear()
            seen[access.how][access.thread] = access
    return [found[stretch] for stretch in stretches if stretch in found]


def _is_after(later: Access, earlier: Access, size: int) -> bool:
    """Whether `syncwarp`s, or one thread's own order, keep two accesses of a block in theirs."""
    rank, other_rank = earlier.thread % size, later.thread % size
    lane = rank % WARP
    return rank // WARP == other_rank // WARP and later.clock[lane] >= earlier.clock[lane]


def _report(array: Watched, notes: Notes, race: Race) -> None:
    visits = [_visit(array, access) for access in race[1:3]]
    did = [
        f"{('reads', 'writes', 'updates')[access.how]} it in {notes.where(access.site)}"
        + (f" for the {_nth(visit)} time" if max(visits) > 1 else "")
        for access, visit in zip(race[1:3], visits, strict=True)
    ]
    # the write is the more telling line; of two writes, the later
    other, telling = race.first, race.second
    if race.second.how == READS:
        other, telling = telling, other
        visits.reverse()
    first, second = (thread_of(access.thread, notes).name for access in race[1:3])
    if race.across:
        why = "nothing orders thread blocks"
    else:
        second, why = second.partition(" of ")[0], "no barrier comes between"
        if other.how == READS:  # a write that comes in a later round must wait for the reads
            after = other if visits[1] > visits[0] else telling
            why += f": one is missing after {notes.where(after.site)}"
    if race.first.how == race.second.how == WRITES and _write_the_same(array, race, notes):
        why += "; all of them write the same value, so it comes to the same: let one do it"
    said = f"{array.at(race.place)}: {first} {did[0]}, {second} {did[1]}, and {why}"
    what = f"{array.name} {other.site.line} {race.across}"
    own = thread_of(telling.thread, notes)
    notes.fault("race", said, telling.site, other.site, what=what, thread=own)


def _write_the_same(array: Watched, race: Race, notes: Notes) -> bool:
    """Whether all do that write this element: of the thread block between two barriers, or of
    all."""
    c, size = array.columns, prod(notes.threads)
    here = (c.place == race.place) & (c.how == WRITES)
    if not race.across:
        here &= (c.thread // size == race.first.thread // size) & (c.epoch == race.first.epoch)
    return len(np.unique(c.value[here])) == 1


def _visit(array: Watched, access: Access) -> int:
    """How often its thread had touched that element there by then."""
    columns = array.columns
    same = columns[(columns.thread == access.thread) & (columns.place == access.place)]
    same = same[[SITES[site] == access.site for site in same.site]]
    own = ("epoch", access.epoch), ("phase", access.phase), ("how", access.how)
    return int(np.argmax(np.all([same[name] == value for name, value in own], axis=0))) + 1


def _nth(number: int) -> str:
    return ("first", "second", "third")[number - 1] if number < 4 else f"{number}th"
