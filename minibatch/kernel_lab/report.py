"""What a launch did: its faults, and how much memory every line moved."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from .arrays import READS, WRITES, Access, Watched
from .faults import Fault, Site
from .races import elements
from .threads import WARP

SECTOR = 32  # bytes: the least that global memory moves
BANKS, BANK_BYTES = 32, 4


@dataclass(frozen=True)
class Pause:
    """Where the watched block stands: at a barrier, or at its end.

    threads: for each that waits, its line and those of its variables that are numbers.
    shared: each shared array's elements, and which of them have been written.
    marks: how long each array's log was.
    """

    threads: dict[int, tuple[int, dict[str, object]]]
    shared: dict[str, tuple[np.ndarray, np.ndarray]]
    marks: dict[str, int]


@dataclass(frozen=True)
class Traffic:
    """What one line did with one array, all threads together.

    instructions: of warps. bytes_asked: of global memory, distinct within an instruction, so 32
    lanes that read the same 4 bytes ask for 4; bytes_moved: in 32-byte sectors. bank_passes: over
    the 32 banks of shared memory, one for each instruction if no two lanes are in the way.
    """

    line: int
    array: str
    space: str
    loads: int
    stores: int
    instructions: int
    bytes_asked: int
    bytes_moved: int
    bank_passes: int

    @property
    def coalescing(self) -> float:
        """The share of the bytes moved that was asked for."""
        return self.bytes_asked / self.bytes_moved

    @property
    def bank_conflict(self) -> float:
        """Passes per instruction; 1 is no conflict."""
        return self.bank_passes / self.instructions

    def __str__(self) -> str:
        did = [f"{self.loads:,} loads"] * (self.loads > 0)
        did += [f"{self.stores:,} stores"] * (self.stores > 0)
        cost = f"{self.bank_conflict:.1f} passes over the banks"
        if self.space == "global":
            cost = f"{self.bytes_moved:,} bytes for {self.bytes_asked:,}, {self.coalescing:.0%}"
        return f"line {self.line}: {self.array}: {' and '.join(did)}, {cost}"


@dataclass
class Report:
    """See `lab.run`. Print it, or look at its `faults` and `traffic`."""

    kernel: Callable
    grid: tuple[int, int, int]
    threads: tuple[int, int, int]
    faults: list[Fault]
    globals: list[Watched] = field(repr=False)
    shared: list[Watched] = field(repr=False)  # of every block
    pauses: list[Pause] = field(repr=False)

    @cached_property
    def source(self) -> dict[int, str]:
        """Line number: text. Empty where Python cannot find the source."""
        try:
            lines, first = inspect.getsourcelines(self.kernel)
        except OSError:
            return {}
        return dict(enumerate((line.rstrip() for line in lines), first))

    @cached_property
    def traffic(self) -> list[Traffic]:
        """For each line and array, in the order of the lines."""
        logs: dict[tuple[str, str, int], list[Access]] = {}
        for array in (*self.globals, *self.shared):
            key = (array.space, array.name, array.itemsize)
            logs[key] = logs.get(key, []) + array.accesses
        found = [traffic for key, log in logs.items() if log for traffic in self._of(log, *key)]
        return sorted(found, key=lambda one: (one.line, one.space, one.array))

    def _of(self, log: list[Access], space: str, name: str, itemsize: int) -> list[Traffic]:
        instructions = warp_instructions(log, prod(self.threads))
        lines = np.array([access.site.line for access in log])
        touched = np.array([(a.place, a.how, a.number) for a in log])
        found = []
        for line in np.unique(lines):
            (place, how, number), of = touched[lines == line].T, instructions[lines == line]
            entry, element = elements(place, number)
            stores = int((how == WRITES).sum())
            asked = len(_pairs(of[entry], element)) * itemsize
            moved = len(_pairs(of[entry], element * itemsize // SECTOR)) * SECTOR
            size = (len(np.unique(of)), asked, moved, _bank_passes(of, place * itemsize))
            found.append(Traffic(int(line), name, space, len(of) - stores, stores, *size))
        return found

    @property
    def bytes_read(self) -> int:
        """From global memory, in sectors, by all instructions together."""
        return sum(t.bytes_moved for t in self.traffic if t.loads and t.space == "global")

    @cached_property
    def least_bytes_read(self) -> int:
        """If every element that was read had been read once, and nothing beside it."""
        return sum(len(_distinct(array, WRITES)) * array.itemsize for array in self.globals)

    @property
    def loads_per_output(self) -> float:
        """Elements read from global memory for each that was written."""
        loads = sum(a.number for array in self.globals for a in array.accesses if a.how != WRITES)
        return loads / max(1, self.num_outputs)

    @property
    def least_loads_per_output(self) -> float:
        """The same, if every element had been read once."""
        return sum(len(_distinct(a, WRITES)) for a in self.globals) / max(1, self.num_outputs)

    @cached_property
    def num_outputs(self) -> int:
        """Elements of global memory that were written."""
        return sum(len(_distinct(array, READS)) for array in self.globals)

    @cached_property
    def never_written(self) -> dict[str, int]:
        """Elements of `lab.empty` arrays that nobody has written, by the array's name."""
        found = {a.name: int((~a.written).sum()) for a in self.globals if a.written is not None}
        return {name: n for name, n in found.items() if n and name in self._stored}

    @property
    def _stored(self) -> set[str]:
        return {traffic.array for traffic in self.traffic if traffic.stores}

    def __str__(self) -> str:
        lines = [
            f"{self.kernel.__name__}: {prod(self.grid)} blocks of {prod(self.threads)} threads",
            f"{len(self.faults) or 'no'} faults",
            *(f"  {fault}" for fault in self.faults),
            *(f"  {n:,} elements of {a} never written" for a, n in self.never_written.items()),
            f"{self.loads_per_output:,.1f} loads per output, at least "
            f"{self.least_loads_per_output:,.1f}",
            f"{self.bytes_read:,} bytes read in sectors, at least {self.least_bytes_read:,}",
        ]
        return "\n".join([*lines, *(f"  {traffic}" for traffic in self.traffic)])


def warp_instructions(log: list[Access], size: int) -> np.ndarray:
    """A number for each access: equal for those that one instruction of one warp made together.

    size: threads of a block. The n-th time that a lane comes to a place in the source since the
    warp's threads last met goes together with the other lanes' n-th time. Where lanes leave a loop
    early, that is a guess.
    """
    sites: dict[Site, int] = {}
    columns = [(a.thread, a.phase, sites.setdefault(a.site, len(sites))) for a in log]
    thread, phase, site = np.array(columns).T
    own = _numbered(thread, phase, site)
    order = np.argsort(own, kind="stable")
    starts = np.flatnonzero(np.diff(own[order], prepend=-1))
    nth = np.empty(len(log), np.int64)
    nth[order] = np.arange(len(log)) - np.repeat(starts, np.diff(starts, append=len(log)))
    return _numbered(thread // size, thread % size // WARP, phase, site, nth)


def _numbered(*keys: np.ndarray) -> np.ndarray:
    """Numbers, equal where all the keys are."""
    number = keys[0]
    for key in keys[1:]:
        number = np.unique(number * (key.max() + 1) + key, return_inverse=True)[1]
    return number


def _pairs(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The distinct pairs, as numbers."""
    return np.unique(one * (other.max() + 1) + other)


def _bank_passes(of: np.ndarray, address: np.ndarray) -> int:
    """Lanes that want different words of one bank go one after the other."""
    word = address // BANK_BYTES
    instruction, word = np.divmod(_pairs(of, word), word.max() + 1)
    passes, counts = np.unique(instruction * BANKS + word % BANKS, return_counts=True)
    worst = np.zeros(of.max() + 1, np.int64)
    np.maximum.at(worst, passes // BANKS, counts)
    return int(worst.sum())


def _distinct(array: Watched, leave_out: int) -> set[int]:
    """The elements that were touched in another way than that."""
    return {a.place + i for a in array.accesses if a.how != leave_out for i in range(a.number)}
