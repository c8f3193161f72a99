"""What a launch did: its faults, and how much memory every line moved."""

from __future__ import annotations

import inspect
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np

from ..core.collector import collector_held_back
from .arrays import READS, WRITES, Access, Watched
from .faults import Fault
from .threads import WARP

SECTOR = 32  # bytes: the least that global memory moves
BANKS, BANK_BYTES = 32, 4


@dataclass(frozen=True)
class Pause:
    """Where the watched block stands: at a barrier, or at its end.

    threads: for each that waits, its line and those of its variables that are numbers.
    shared: each shared array's elements, and which of them have been written.
    marks: how long each array's list of accesses was.
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
    @collector_held_back()
    def traffic(self) -> list[Traffic]:
        """For each line and array, in the order of the lines."""
        found: dict[tuple, list[list[Access]]] = defaultdict(list)
        for array in (*self.globals, *self.shared):
            for instruction in warp_instructions(array.accesses, prod(self.threads)):
                line = instruction[0].site.line
                found[line, array.space, array.name, array.itemsize].append(instruction)
        return [_traffic(*key, found[key]) for key in sorted(found)]

    @property
    def bytes_read(self) -> int:
        """From global memory, in sectors, by all instructions together."""
        return sum(t.bytes_moved for t in self.traffic if t.loads and t.space == "global")

    @property
    def least_bytes_read(self) -> int:
        """If every element that was read had been read once, and nothing beside it."""
        arrays = zip(self._elements_read, self.globals, strict=True)
        return sum(number * array.itemsize for number, array in arrays)

    @cached_property
    def loads_per_output(self) -> float:
        """Elements read from global memory for each that was written."""
        loads = sum(a.number for array in self.globals for a in array.accesses if a.how != WRITES)
        return loads / max(1, self.num_outputs)

    @property
    def least_loads_per_output(self) -> float:
        """The same, if every element had been read once."""
        return sum(self._elements_read) / max(1, self.num_outputs)

    @cached_property
    def _elements_read(self) -> list[int]:
        """How many of each global array."""
        return [len(_distinct(array, WRITES)) for array in self.globals]

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


def warp_instructions(accesses: list[Access], size: int) -> list[list[Access]]:
    """The accesses to an array, those together that one instruction of one warp made.

    size: threads of a block. The n-th time that a lane comes to a place in the source since the
    warp's threads last met goes together with the other lanes' n-th time. Where lanes leave a loop
    early, that is a guess.
    """
    times: dict[tuple, int] = defaultdict(int)
    together: dict[tuple, list[Access]] = defaultdict(list)
    for access in accesses:
        block, rank = divmod(access.thread, size)
        own = (access.thread, access.phase, access.site)
        together[block, rank // WARP, access.phase, access.site, times[own]].append(access)
        times[own] += 1
    return list(together.values())


def _traffic(
    line: int, space: str, array: str, itemsize: int, instructions: list[list[Access]]
) -> Traffic:
    asked = moved = passes = 0
    for lanes in instructions:
        elements = {place for access in lanes for place in access.places}
        asked += len(elements) * itemsize
        moved += len({place * itemsize // SECTOR for place in elements}) * SECTOR
        words = {access.place * itemsize // BANK_BYTES for access in lanes}
        passes += max(Counter(word % BANKS for word in words).values())  # one after the other
    stores = sum(access.how == WRITES for lanes in instructions for access in lanes)
    loads = sum(map(len, instructions)) - stores
    return Traffic(line, array, space, loads, stores, len(instructions), asked, moved, passes)


def _distinct(array: Watched, leave_out: int) -> set[int]:
    """The elements that were touched in another way than that."""
    return {place for a in array.accesses if a.how != leave_out for place in a.places}
