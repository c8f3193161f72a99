"""Data races: two threads, one element, one of them writes, and nothing orders the two."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .arrays import Watched, _site

if TYPE_CHECKING:
    from .launch import Launch

READS, WRITES, ATOMIC = 0, 1, 2


def find_races(array: Watched, threads_per_block: int, launch: Launch) -> None:
    """Reports to the launch: races within a block, and elements that blocks do not share well.

    Barriers order the threads of a block, `syncwarp` those of a warp. Nothing orders two blocks of
    one launch, so an element that one writes is no other's to read or to write.
    """
    log = array.log
    if not any(entry[7] for entry in log):
        return
    columns = np.array([(e[0], e[1], e[6], e[7], e[8]) for e in log], dtype=np.int64)
    order = np.repeat(np.arange(len(log)), columns[:, 4])  # a wide load is several elements
    within = np.arange(len(order)) - np.repeat(
        np.cumsum(columns[:, 4]) - columns[:, 4], columns[:, 4]
    )
    thread, epoch, place, how = (columns[order, i] for i in range(4))
    place = place + within
    block = thread // threads_per_block
    writes = how != READS

    for group in _mixed(place, block, writes):  # several blocks, one element
        _report(array, launch, [log[i] for i in dict.fromkeys(order[group].tolist())],
                threads_per_block, across=True)  # fmt: skip
    cell = np.unique(np.stack([place, block, epoch]), axis=1, return_inverse=True)[1].reshape(-1)
    for group in _mixed(cell, thread, writes):
        _report(array, launch, [log[i] for i in dict.fromkeys(order[group].tolist())],
                threads_per_block, across=False)  # fmt: skip


def _mixed(cell: np.ndarray, actor: np.ndarray, writes: np.ndarray) -> list[np.ndarray]:
    """The accesses of each cell that has several actors, and of these one that writes."""
    by_cell = np.argsort(cell, kind="stable")
    starts = np.flatnonzero(np.diff(cell[by_cell], prepend=-1))
    actors = actor[by_cell]
    several = np.minimum.reduceat(actors, starts) != np.maximum.reduceat(actors, starts)
    written = np.maximum.reduceat(writes[by_cell].astype(np.int8), starts) > 0
    ends = np.append(starts[1:], len(by_cell))
    chosen = np.flatnonzero(several & written)
    return [by_cell[starts[i] : ends[i]] for i in chosen]


def _report(array: Watched, launch: Launch, entries: list, per_block: int, across: bool) -> None:
    """The first two of these accesses that nothing orders, if there are any."""
    for i, first in enumerate(entries):
        for second in entries[i + 1 :]:
            if not _conflict(first, second, per_block, across):
                continue
            place = max(first[6], second[6])
            index = ", ".join(str(int(n)) for n in np.unravel_index(place, array.shape))
            one, other = (_site(entry[4], entry[5]) for entry in (first, second))
            verbs = [("reads", "writes", "adds to")[entry[7]] for entry in (first, second)]
            why = (
                "nothing orders the blocks of a launch"
                if across
                else "there is no barrier between the two"
            )
            # the write is the more telling line; of two writes, the later
            site, before = (other, one) if second[7] else (one, other)
            launch.fault(
                "race",
                f"{array.name}[{index}]: {_who(first[0], launch)} {verbs[0]} it in line "
                f"{one.line}, {_who(second[0], launch)} {verbs[1]} it in line {other.line}, and "
                f"{why}",
                site,
                f"{array.name} {min(one.line, other.line)} {max(one.line, other.line)} {across}",
                others=[before],
            )
            return


def _conflict(first: tuple, second: tuple, per_block: int, across: bool) -> bool:
    same_block = first[0] // per_block == second[0] // per_block
    if first[0] == second[0] or same_block == across:
        return False
    if first[7] + second[7] == READS or first[7] == second[7] == ATOMIC:
        return False
    if across:
        return True
    same_warp = first[0] % per_block // 32 == second[0] % per_block // 32
    return not (same_warp and first[2] != second[2])


def _who(number: int, launch: Launch) -> str:
    from math import prod

    block, index = divmod(number, prod(launch.threads))
    x, y = block % launch.grid[0], block // launch.grid[0]
    return f"thread {index} of block ({x}, {y % launch.grid[1]}, {y // launch.grid[1]})"
