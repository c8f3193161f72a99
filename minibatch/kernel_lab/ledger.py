"""What was read of each array, beside what had to be: the two reasons to read a byte again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .instructions import SECTOR, Instructions, distinct_pairs


@dataclass(frozen=True)
class Entry:
    """One global array. needed: bytes of the sectors that anybody reads, once.

    by_others: how many times that many all thread blocks read together, if each reads a sector
    once; as if every thread block had a cache that forgets nothing. within: how many times that
    many again they do read, without any cache. What a GPU's memory delivers may be anything from
    `needed` to all of it. is_broadcast: all its reads are one address for all lanes, which costs
    next to nothing.
    """

    array: str
    needed: int
    by_others: float
    within: float
    is_broadcast: bool

    @property
    def moved(self) -> int:
        """Bytes, by all instructions together."""
        return round(self.needed * self.by_others * self.within)

    def __str__(self) -> str:
        factors = f"×{self.by_others:.1f} by thread blocks ×{self.within:.1f} within one"
        how = "broadcast, as good as free" if self.is_broadcast else factors
        return f"{self.array}: {self.needed:,} bytes needed, {how}"


def entry(instructions: Instructions) -> Entry | None:
    """None for an array that nobody reads."""
    loads = ~instructions.is_store
    if not loads.any():
        return None
    is_load = loads[instructions.sectors_of]
    block = instructions.thread_block[instructions.sectors_of[is_load]]
    sector = instructions.touched[is_load]
    needed, by_blocks = len(np.unique(sector)), len(distinct_pairs(block, sector)[0])
    is_broadcast = bool(instructions.is_broadcast[loads].all())
    name, moved = instructions.array.name, int(instructions.sectors[loads].sum())
    return Entry(name, needed * SECTOR, by_blocks / needed, moved / by_blocks, is_broadcast)
