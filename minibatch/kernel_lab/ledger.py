"""Bytes read of each array, compared with bytes needed: the two reasons to read a byte again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .instructions import SECTOR, Instructions, distinct_pairs


@dataclass(frozen=True)
class Entry:
    """One global array. needed: bytes of all sectors that are read, each counted once.

    by_others: the factor of bytes read if each thread block reads a sector once, as if it had an
    unlimited cache. within: the further factor without any cache. A GPU's memory delivers between
    `needed` and needed × by_others × within. is_broadcast: in all its reads the lanes read one
    address, which is almost free.
    """

    array: str
    needed: int
    by_others: float
    within: float
    is_broadcast: bool

    @property
    def moved(self) -> int:
        """Bytes moved by all instructions together."""
        return round(self.needed * self.by_others * self.within)

    def __str__(self) -> str:
        factors = f"×{self.by_others:.1f} by thread blocks ×{self.within:.1f} within one"
        how = "broadcast, as good as free" if self.is_broadcast else factors
        return f"{self.array}: {self.needed:,} bytes needed, {how}"


def entry(instructions: Instructions) -> Entry | None:
    """The entry of an array, or None if it is not read."""
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
