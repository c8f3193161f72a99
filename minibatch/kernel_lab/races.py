"""Data races: two threads access one element, one of them writes, and nothing orders the two.

One pass over an array's accesses, in the order of time, finds them. For each element it keeps only
the accesses that a later one could still race with. So the work grows with the number of accesses,
not with the number of their pairs.
"""

from __future__ import annotations

from collections import defaultdict
from math import prod
from typing import NamedTuple

import numpy as np

from .arrays import ATOMIC, DID, READS, WRITES, Access, Watched, elements_of
from .faults import SITES, Notes, Site
from .instructions import distinct_pairs, one_key
from .threads import WARP, thread_of

# Accesses of two threads to one element that are a race, unless something orders them.
RIVALS = {READS: (WRITES, ATOMIC), WRITES: (READS, WRITES, ATOMIC), ATOMIC: (READS, WRITES)}


class Race(NamedTuple):
    """Two accesses to the element at `place` of the flat array, in the order of time.

    sides: the access that reads, then the one that writes; two writes in the order of time.
    """

    place: int
    first: Access
    second: Access
    across: bool  # by threads of two blocks

    sides = property(lambda self: sorted(self[1:3], key=lambda access: access.how != READS))


def find_races(array: Watched, notes: Notes) -> None:
    """Adds to the notes the races of threads within a block, and of two blocks.

    Barriers order the threads of a block, `syncwarp` orders those of a warp; a shuffle does not
    order memory. Nothing orders two blocks of one launch, so an element that one block writes must
    not be read or written by another. Races that one barrier, directly before or after a write,
    would prevent are one fault.
    """
    columns, size = array.columns, prod(notes.threads)
    if not columns.how.any():
        return
    for across in (False, True)[: 1 + (array.space == "global")]:
        found = races(array.accesses(_suspects(columns, size, across)), size, across)
        helps = _where_a_barrier_helps(columns, found) if found else []
        causes: dict[tuple, list[Race]] = defaultdict(list)
        for race, where in zip(found, helps, strict=True):
            other, write = race.sides
            is_helped = other.how == READS and not across
            cause = where if is_helped else f"line {SITES[other.site].line}"
            causes[SITES[write.site][:2], cause].append(race)
        for (_, cause), same in causes.items():
            _report(array, notes, same, cause)


def _suspects(columns: np.recarray, size: int, across: bool) -> np.ndarray:
    """Which accesses to examine: those to an element that was written or updated, and that was
    accessed by two threads of a block between two barriers or, if `across`, by two blocks."""
    rows, place = elements_of(columns)
    thread, block = columns.thread[rows], columns.thread[rows] // size
    group = one_key(place) if across else one_key(place, block, columns.epoch[rows])
    group = np.unique(group, return_inverse=True)[1]
    owners = np.bincount(distinct_pairs(group, block if across else thread)[0])
    is_written = np.bincount(group, columns.how[rows] != READS) > 0
    return np.unique(rows[(owners[group] > 1) & is_written[group]])


def races(accesses: list[Access], size: int, across: bool) -> list[Race]:
    """The first race of each element between two barriers of a block of `size` threads or, if
    `across`, between two blocks.

    Only each thread's last access is kept: an access ordered after it is ordered after all earlier
    ones. A write within a block replaces all accesses, for the same reason.
    """
    # (place, block, epoch) or (place,) -> how -> thread -> its last access
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
            if access.how == WRITES and not across:
                for threads in seen:
                    threads.clear()
            seen[access.how][access.thread] = access
    return [found[stretch] for stretch in stretches if stretch in found]


def _is_after(later: Access, earlier: Access, size: int) -> bool:
    """Whether `syncwarp`s, or the order within one thread, order two accesses of a block."""
    rank, other_rank = earlier.thread % size, later.thread % size
    lane = rank % WARP
    return rank // WARP == other_rank // WARP and later.clock[lane] >= earlier.clock[lane]


def _where_a_barrier_helps(columns: np.recarray, found: list[Race]) -> list[str]:
    """For each race of a write and a read, where a barrier is missing: "after" the write if the
    program writes first, else "before" it. The order of time in this run does not show that.

    All threads execute the same rounds. So the write is first if the reader had executed the
    write's line as often as the writer. If the reader executes that line less often, or never, then
    the write is first if the writer had executed the reader's line less often than the reader.
    """
    read, write = np.array([[access.row for access in race.sides] for race in found]).T
    deed = columns.site * len(RIVALS) + columns.how
    deeds, end = deed.max() + 1, columns.moment.max() + 1
    done = np.sort((columns.thread * deeds + deed) * (end + 1) + columns.moment)

    def times(thread_of: np.ndarray, deed_of: np.ndarray, until: np.ndarray | int) -> np.ndarray:
        begin = (columns.thread[thread_of] * deeds + deed[deed_of]) * (end + 1)
        return np.searchsorted(done, begin + until) - np.searchsorted(done, begin)

    to_write, to_read = columns.moment[write] + 1, columns.moment[read] + 1
    is_first = np.where(
        times(read, write, end) >= times(write, write, end),
        times(read, write, to_read) >= times(write, write, to_write),
        times(write, read, to_write) < times(read, read, to_read),
    )
    return np.where(is_first, "after", "before").tolist()


def _report(array: Watched, notes: Notes, same: list[Race], cause: str) -> None:
    """Report races that have one cause as one fault, with the first of them."""
    race, columns, size = same[0], array.columns, prod(notes.threads)
    pair, (other, write) = race[1:3], race.sides
    site, others = SITES[write.site], [SITES[each.sides[0].site] for each in same]
    names = [thread_of(each.thread, notes).name for each in pair]
    here = columns[columns.place == race.place]  # all accesses to the element
    why = "nothing orders thread blocks"
    if not race.across:
        why, names[1] = "no barrier is between them", names[1].partition(" of ")[0]
        here = here[(here.thread // size == write.thread // size) & (here.epoch == write.epoch)]
    writes = here[here.how == WRITES]
    if other.how == READS and site.line == others[0].line and other.thread in writes.thread:
        why += "; each reads it and writes it back, so changes are lost: use cuda.atomic.add,"
        why += " which does both in one operation"
    elif not race.across and cause in ("after", "before"):
        skipped = [each.where for each in notes.faults if each.kind == "divergence"]
        first = f": first let all threads reach the barrier in {skipped[0]}" if skipped else ""
        why += first or f": a barrier is missing {_between(site, others, cause, notes)}"
    if other.how == write.how == WRITES and len({*writes.value}) == 1:
        why += "; all write the same value, so the result is right: let only one thread write"
    visits = [_visit_number(columns, access) for access in pair]
    did = [
        f"{name} {DID[access.how]} it in {notes.where(SITES[access.site])}"
        + f" for the {_nth(visit)} time" * (max(visits) > 1)
        for name, access, visit in zip(names, pair, visits, strict=True)
    ]
    text = f"{array.at(race.place)}: {', '.join(did)}, and {why}"
    own = {"thread": thread_of(write.thread, notes), "count": len(same)}
    what = f"{array.name} {cause} {race.across}"
    notes.fault("race", text, site, *dict.fromkeys(others), what=what, **own)


def _between(write: Site, reads: list[Site], cause: str, notes: Notes) -> str:
    """Where a barrier would order a write and these reads."""
    if cause == "after":
        return f"after {notes.where(write)}"
    last = max(reads, key=lambda read: (read.line < write.line, read.line))  # or of the last round
    if last.line == write.line:
        return f"in {notes.where(write)}, between reading and writing"
    again = " runs again" * (last.line > write.line and last.function == write.function)
    return f"after {notes.where(last)}, before {notes.where(write)}{again}"


def _visit_number(columns: np.recarray, access: Access) -> int:
    """The number of this access among its thread's accesses of this kind, element and place."""
    by_then = columns[: access.row + 1]
    own = (by_then[name] == by_then[name][-1] for name in ("thread", "place", "site", "how"))
    return int(np.all([*own], axis=0).sum())


def _nth(number: int) -> str:
    return ("first", "second", "third")[number - 1] if number < 4 else f"{number}th"
