"""What a launch did: faults, and how much memory every line moved."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from .arrays import Watched, _site
from .faults import Fault, Site

SECTOR = 32  # bytes that global memory moves at least
BANKS, BANK_BYTES = 32, 4
READS, WRITES, ATOMIC = 0, 1, 2


@dataclass(frozen=True)
class Pause:
    """Where a watched block stands: at a barrier, or at its end.

    threads: for each that waits, its line and those of its variables that are numbers.
    shared: each shared array's elements, and which of them have been written.
    marks: how long each array's log was.
    """

    threads: dict[int, tuple[int, dict[str, object]]]
    shared: dict[str, tuple[np.ndarray, np.ndarray]]
    marks: dict[str, int]


@dataclass(frozen=True)
class Traffic:
    """What one line did with one array, all threads together. Bytes are of global memory, and
    distinct within an instruction of a warp: 32 lanes that read the same 4 bytes ask for 4."""

    line: int
    array: str
    space: str
    loads: int
    stores: int
    instructions: int  # of warps
    bytes_asked: int = 0
    bytes_moved: int = 0
    bank_passes: int = 0  # shared: passes that the instructions took; as many if without conflict

    @property
    def coalescing(self) -> float:
        """Bytes asked for over bytes moved in 32-byte sectors; 1 is all that was moved was used."""
        return self.bytes_asked / self.bytes_moved if self.bytes_moved else 1.0

    @property
    def bank_conflict(self) -> float:
        """Passes per instruction over shared memory's 32 banks; 1 is none in another's way."""
        return self.bank_passes / self.instructions if self.space == "shared" else 1.0


@dataclass
class Report:
    """See `lab.run`. Print it, or look at its `faults` and `traffic`."""

    kernel: Callable
    grid: tuple[int, int, int]
    threads: tuple[int, int, int]
    faults: list[Fault]
    globals: list[Watched] = field(repr=False)
    shared: list[Watched] = field(repr=False)
    pauses: list[Pause] = field(repr=False)

    @property
    def file(self) -> str:
        return self.kernel.__code__.co_filename

    @cached_property
    def source(self) -> dict[int, str]:
        """Line number: text. Empty where Python cannot find the source."""
        try:
            lines, first = inspect.getsourcelines(self.kernel)
        except (OSError, TypeError):
            return {}
        return {first + i: line.rstrip("\n") for i, line in enumerate(lines)}

    @cached_property
    def traffic(self) -> list[Traffic]:
        """For each line and array, in the order of the lines."""
        found: list[Traffic] = []
        for array in self.globals:
            found += self._of([array])
        by_name: dict[str, list[Watched]] = {}
        for array in self.shared:
            by_name.setdefault(array.name, []).append(array)
        for arrays in by_name.values():
            found += self._of(arrays)
        return sorted(found, key=lambda one: (one.line, one.space, one.array))

    def _of(self, arrays: list[Watched]) -> list[Traffic]:
        log = [entry for array in arrays for entry in array.log]
        if not log:
            return []
        array = arrays[0]
        instruction = warp_instructions(log, prod(self.threads))
        lines = np.array(_lines(log))
        columns = np.array([(e[6], e[7], e[8]) for e in log], dtype=np.int64)
        found = []
        for line in np.unique(lines):
            here = lines == line
            place, how, number = columns[here].T
            of = instruction[here]
            more = {}
            if array.space == "global":
                asked, moved = _sectors(of, place, number, array.itemsize)
                more = {"bytes_asked": asked, "bytes_moved": moved}
            else:
                more = {"bank_passes": _bank_passes(of, place * array.itemsize)}
            stores = int((how == WRITES).sum())
            found.append(
                Traffic(
                    *(int(line), array.name, array.space, int(len(place) - stores), stores),
                    *(len(np.unique(of)),),
                    **more,
                )
            )
        return found

    @property
    def bytes_read(self) -> int:
        """Of global memory, in sectors, all instructions together."""
        return sum(t.bytes_moved for t in self.traffic if t.loads)

    @cached_property
    def least_bytes_read(self) -> int:
        """If every element that was read had been read once, and nothing beside it."""
        return sum(
            len(_elements([e for e in array.log if e[7] != WRITES])) * array.itemsize
            for array in self.globals
        )

    @cached_property
    def num_outputs(self) -> int:
        """Elements of global memory that were written."""
        return sum(len(_elements([e for e in a.log if e[7] != READS])) for a in self.globals)

    @property
    def loads_per_output(self) -> float:
        """Elements read from global memory for each that was written."""
        loads = sum(e[8] for array in self.globals for e in array.log if e[7] != WRITES)
        return loads / self.num_outputs if self.num_outputs else float("nan")

    @property
    def least_loads_per_output(self) -> float:
        """The same, if every element had been read once."""
        least = sum(len(_elements([e for e in a.log if e[7] != WRITES])) for a in self.globals)
        return least / self.num_outputs if self.num_outputs else float("nan")

    def __str__(self) -> str:
        lines = [
            f"{self.kernel.__name__}: {prod(self.grid)} blocks of {prod(self.threads)} threads",
            f"{len(self.faults)} faults" if self.faults else "no faults",
            *(f"  {fault}" for fault in self.faults),
            f"{self.loads_per_output:,.1f} loads per output; at least "
            f"{self.least_loads_per_output:,.1f}",
            f"{self.bytes_read:,} bytes read in sectors; at least {self.least_bytes_read:,}",
        ]
        for t in self.traffic:
            cost = (
                f"{t.bytes_moved:,} bytes for {t.bytes_asked:,}, {t.coalescing:.0%} coalesced"
                if t.space == "global"
                else f"{t.bank_conflict:.1f} passes over the banks"
            )
            did = " and ".join(
                f"{number:,} {what}"
                for number, what in ((t.loads, "loads"), (t.stores, "stores"))
                if number
            )
            lines.append(f"  line {t.line}: {t.array}: {did}, {cost}")
        return "\n".join(lines)


def warp_instructions(log: list[tuple], per_block: int) -> np.ndarray:
    """A number for each access: equal for those that one instruction of one warp made together.

    The n-th time that a lane comes to a place in the source since the warp's threads last met goes
    together with the other lanes' n-th time. Where lanes leave a loop early, that is a guess.
    """
    sites: dict[Site, int] = {}
    columns = np.array(
        [(e[0], e[3], sites.setdefault(_site(e[4], e[5]), len(sites))) for e in log], dtype=np.int64
    )
    thread, phase, site = columns.T
    block, inside = np.divmod(thread, per_block)
    own = _group(thread, phase, site)
    order = np.argsort(own, kind="stable")
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    sizes = np.diff(np.append(starts, len(order)))
    nth = np.empty(len(order), np.int64)
    nth[order] = np.arange(len(order)) - np.repeat(starts, sizes)
    return _group(block, inside // 32, phase, site, nth)


def _group(*keys: np.ndarray) -> np.ndarray:
    """Numbers, equal where all the keys are."""
    number = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, key = np.unique(key, return_inverse=True)
        number = np.unique(number * len(values) + key, return_inverse=True)[1]
    return number


def _lines(log: list[tuple]) -> list[int]:
    return [_site(entry[4], entry[5]).line for entry in log]


def _sectors(
    of: np.ndarray, place: np.ndarray, number: np.ndarray, itemsize: int
) -> tuple[int, int]:
    """Bytes asked for, and bytes moved, by instructions that touch `number` elements from place."""
    repeated = np.repeat(np.arange(len(place)), number)
    within = np.arange(len(repeated)) - np.repeat(np.cumsum(number) - number, number)
    element = place[repeated] + within
    of = of[repeated]
    asked = len(np.unique(of * (element.max() + 1) + element)) * itemsize
    sector = element * itemsize // SECTOR
    return asked, len(np.unique(of * (sector.max() + 1) + sector)) * SECTOR


def _bank_passes(of: np.ndarray, address: np.ndarray) -> int:
    """Lanes that want different words of one bank go one after the other."""
    word = address // BANK_BYTES
    distinct = np.unique(np.stack([of, word]), axis=1)
    bank = distinct[1] % BANKS
    groups, counts = np.unique(distinct[0] * BANKS + bank, return_counts=True)
    worst = np.zeros(int(of.max()) + 1, np.int64)
    np.maximum.at(worst, groups // BANKS, counts)
    return int(worst.sum())


def _elements(log: list[tuple]) -> set[int]:
    return {place + i for *_, place, _, number in log for i in range(number)}
