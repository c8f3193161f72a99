"""Data races: two threads, one element, one of them writes, and nothing orders the two."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from .arrays import ATOMIC, READS, Access, Watched
from .faults import Notes
from .threads import WARP

MOST_CELLS = 500  # looked at more closely, of each array: one sentence is enough


def find_races(array: Watched, notes: Notes) -> None:
    """Adds to the notes: races within a block, and elements that blocks do not share well.

    Barriers order the threads of a block, `syncwarp` those of a warp; a shuffle orders nothing.
    Nothing orders two blocks of one launch, so what one writes is no other's to read or to write.
    """
    if all(access.how == READS for access in array.accesses):
        return
    columns = np.array([(a.thread, a.epoch, a.place, a.how, a.number) for a in array.accesses])
    entry, place = elements(columns[:, 2], columns[:, 4])
    thread, epoch, _, how, _ = columns[entry].T
    block = thread // prod(notes.threads)
    cell = np.unique(np.stack([place, block, epoch]), axis=1, return_inverse=True)[1].reshape(-1)
    for across, groups in (
        (True, _shared(place, block, how != READS)),
        (False, _shared(cell, thread, how != READS)),
    ):
        for group in groups:
            touched = [(int(place[i]), array.accesses[entry[i]]) for i in group]
            _report(array, notes, touched, across)


def elements(place: np.ndarray, number: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Wide accesses taken apart: for each element, which access it is of, and its own place."""
    entry = np.repeat(np.arange(len(place)), number)
    within = np.arange(len(entry)) - np.repeat(np.cumsum(number) - number, number)
    return entry, place[entry] + within


def _shared(cell: np.ndarray, actor: np.ndarray, writes: np.ndarray) -> Iterator[np.ndarray]:
    """The accesses of each cell that has several actors, and of these one that writes."""
    order = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    several = np.minimum.reduceat(actor[order], starts) != np.maximum.reduceat(actor[order], starts)
    written = np.logical_or.reduceat(writes[order], starts)
    for i in np.flatnonzero(several & written)[:MOST_CELLS]:
        yield order[starts[i] : ends[i]]


def _report(array: Watched, notes: Notes, touched: list[tuple[int, Access]], across: bool) -> None:
    """The first two of these accesses that nothing orders, if there are any."""
    size = prod(notes.threads)
    for i, (place, first) in enumerate(touched):
        for _, second in touched[i + 1 :]:
            if not _conflict(first, second, size, across):
                continue
            index = ", ".join(str(int(n)) for n in np.unravel_index(place, array.shape))
            did = [
                f"{_who(access.thread, notes)} {('reads', 'writes', 'updates')[access.how]} it in "
                f"line {access.site.line}"
                for access in (first, second)
            ]
            why = "nothing orders blocks" if across else "no barrier comes between"
            # the write is the more telling line; of two writes, the later
            site, other = (second, first) if second.how != READS else (first, second)
            notes.fault(
                "race",
                f"{array.name}[{index}]: {did[0]}, {did[1]}, and {why}",
                site.site,
                f"{array.name} {other.site.line} {across}",
                None,
                other.site,
            )
            return


def _conflict(first: Access, second: Access, size: int, across: bool) -> bool:
    same_block = first.thread // size == second.thread // size
    if first.thread == second.thread or same_block == across:
        return False
    if first.how == second.how == READS or first.how == second.how == ATOMIC:
        return False
    same_warp = first.thread % size // WARP == second.thread % size // WARP
    lane = first.thread % size % WARP
    has_heard = same_warp and second.clock[lane] >= first.clock[lane]
    return across or not has_heard


def _who(number: int, notes: Notes) -> str:
    block, index = divmod(number, prod(notes.threads))
    (x, y), wide = (block % notes.grid[0], block // notes.grid[0]), notes.grid[1]
    return f"thread {index} of block {(x, y % wide, y // wide)}"
