"""Groups the accesses to one array by instruction of a warp, and counts what each one asks for.

The n-th access of a lane at a place in the source, since the warp's threads last met, belongs to
the same instruction as the other lanes' n-th. Where lanes leave a loop early, this is a guess.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .arrays import READS, Watched, elements_of
from .threads import WARP

SECTOR = 32  # bytes: the smallest unit that global memory moves
BANKS, BANK_BYTES = 32, 4


class Instructions:
    """Columns with an entry for each instruction, unsorted; `of` is each access's instruction.

    site: an index in SITES. thread_block: its number. warp: its number in the thread block. lanes:
    how many took part. moment: of the first lane. is_store. elements: how many distinct ones;
    distinct_read: of all loads together. sectors: how many, of 32 bytes; touched: their numbers;
    sectors_of: the instruction of each. passes: over the banks, of a shared array.
    """

    def __init__(self, array: Watched, size: int) -> None:
        """size: threads of a thread block."""
        columns = self.columns = array.columns
        self.array, warps = array, -(-size // WARP)
        self.lane = columns.thread % size % WARP
        warp = columns.thread // size * warps + columns.thread % size // WARP
        site, is_store = np.unique(columns.site, return_inverse=True)[1], columns.how != READS
        own = one_key(columns.thread, columns.phase, site, is_store)
        order = np.argsort(own, kind="stable")
        _, begins, lengths = np.unique(own[order], return_index=True, return_counts=True)
        nth = np.empty_like(own)
        nth[order] = np.arange(len(own)) - np.repeat(begins, lengths)
        together = one_key(warp, columns.phase, site, is_store, nth)
        _, first, self.of, self.lanes = np.unique(
            together, return_index=True, return_inverse=True, return_counts=True
        )
        self.site, self.moment = columns.site[first], columns.moment[first]
        self.is_store = is_store[first]
        self.thread_block, self.warp = warp[first] // warps, warp[first] % warps
        rows, place = elements_of(columns)
        of, place = distinct_pairs(self.of[rows], place)
        self.elements = np.bincount(of, minlength=len(first))
        self.distinct_read = len(np.unique(place[~self.is_store[of]]))
        self.sectors_of, self.touched = distinct_pairs(of, place * array.itemsize // SECTOR)
        self.sectors = self.passes = np.bincount(self.sectors_of, minlength=len(first))
        if array.space == "shared":
            of, word = distinct_pairs(self.of, columns.place * array.itemsize // BANK_BYTES)
            banks = np.bincount(of * BANKS + word % BANKS, minlength=len(first) * BANKS)
            self.passes = banks.reshape(-1, BANKS).max(1, initial=0)

    @property
    def is_broadcast(self) -> np.ndarray:
        """Whether several lanes read the same element: memory answers all of them at once."""
        return (self.elements == 1) & (self.lanes > 1) & ~self.is_store


@dataclass(frozen=True)
class Entry:
    """One global array. used: bytes of all elements that are read, each counted once; touched:
    bytes of all sectors that are read, each counted once.

    by_others: how many thread blocks read a sector, on average. within: how many times each of them
    asks for it; a perfect cache of the thread block would make it 1. requests: by_others × within,
    how many times a sector is asked for. asked: bytes that all instructions together ask for, in
    sectors. is_broadcast: in all its reads the lanes read one address, which is almost free.
    """

    array: str
    used: int
    touched: int
    by_others: float
    within: float
    is_broadcast: bool

    requests = property(lambda self: self.by_others * self.within)
    asked = property(lambda self: round(self.touched * self.requests))

    @property
    def per_sector(self) -> str:
        """The requests for a sector; their two factors, if several thread blocks ask for it, with
        so many digits that their product is right."""
        requests = f"{self.requests:.1f}"
        if self.is_broadcast or self.by_others <= 1:
            return requests + ", broadcasts" * self.is_broadcast
        product = round(self.by_others, 1) * round(self.within, 1)
        digits = 1 if f"{product:.1f}" == requests else 2
        return f"{requests} = {self.by_others:.{digits}f} thread blocks × {self.within:.{digits}f}"

    def __str__(self) -> str:
        bytes_read = f"{self.used:,} bytes used of {self.touched:,} touched"
        return f"{self.array}: {bytes_read}; requests per sector: {self.per_sector}"


def ledger_entry(instructions: Instructions) -> Entry | None:
    """Bytes read of an array, compared with bytes touched; None if it is not read."""
    loads = ~instructions.is_store
    if not loads.any():
        return None
    is_load = loads[instructions.sectors_of]
    block = instructions.thread_block[instructions.sectors_of[is_load]]
    sector, array = instructions.touched[is_load], instructions.array
    touched, by_blocks = len(np.unique(sector)), len(distinct_pairs(block, sector)[0])
    factors = by_blocks / touched, len(sector) / by_blocks
    used = instructions.distinct_read * array.itemsize
    is_broadcast = bool(instructions.is_broadcast[loads].all())
    return Entry(array.name, used, touched * SECTOR, *factors, is_broadcast)


def one_key(*columns: np.ndarray) -> np.ndarray:
    """One number for each combination of the columns' values."""
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    return np.ravel_multi_index([column.astype(np.int64) for column in columns], sizes)


def distinct_pairs(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs."""
    wide = int(second.max(initial=0)) + 1
    return np.divmod(np.unique(first * wide + second), wide)
