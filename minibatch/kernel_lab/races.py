"""Data races: two threads, one element, one of them writes, and nothing orders the two.

One walk over an array's accesses, in the order in which they came, finds them: of all that was done
to an element it keeps only what a later access could still race with. So the work grows with the
number of accesses, not with the number of their pairs.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import count
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
    """The first race of each element, between any two barriers of a block of `size` threads.

    In the order in which the elements were first touched.
    """
    elements: dict[int, _Since] = {}
    numbers, found = count(), []
    for access in accesses:
        stretch = (access.thread // size, access.epoch)
        for place in access.places:
            since = elements.get(place)
            if since is None or since.stretch != stretch:
                since = elements[place] = _Since(stretch, next(numbers))
            first = None if since.has_raced else since.add(access, size)
            if first:
                found.append((since.number, Race(place, first, access, across=False)))
    return [race for _, race in sorted(found)]


class _Since:
    """What was done to an element since a block's last barrier, as far as it matters."""

    def __init__(self, stretch: tuple[int, int], number: int) -> None:
        self.stretch, self.number, self.has_raced = stretch, number, False
        self.last: tuple[dict[int, Access], ...] = ({}, {}, {})  # how -> thread -> its last access

    def add(self, access: Access, size: int) -> Access | None:
        """Returns what the access races with. Whoever is ordered after a thread's last access is
        ordered after all before it; and who is ordered after a write, after all that it followed.
        """
        for how in RIVALS[access.how]:
            for other in self.last[how].values():
                if not _has_heard(access, other, size):
                    self.has_raced = True
                    return other
        if access.how == WRITES:
            for threads in self.last:
                threads.clear()
        self.last[access.how][access.thread] = access
        return None


def _has_heard(later: Access, earlier: Access, size: int) -> bool:
    """Whether `syncwarp`s order two accesses by threads of one block. One hears itself."""
    rank, other_rank = earlier.thread % size, later.thread % size
    lane = rank % WARP
    return rank // WARP == other_rank // WARP and later.clock[lane] >= earlier.clock[lane]


def races_across_blocks(accesses: list[Access], size: int) -> list[Race]:
    """The first race of each element between two blocks, which run here one after the other."""
    elements: dict[int, dict[int, Access]] = defaultdict(dict)  # how -> the first who did so
    found: dict[int, Race] = {}
    for access in accesses:
        for place in access.places:
            firsts = elements[place]
            for how, first in firsts.items():
                is_other = first.thread // size != access.thread // size
                if is_other and how in RIVALS[access.how] and place not in found:
                    found[place] = Race(place, first, access, across=True)
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
