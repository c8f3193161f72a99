"""What a launch did: its faults, and how much memory every line asked for."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader

from ..core.collector import collector_held_back
from .arrays import Watched
from .faults import SITES, Notes, Site
from .instructions import SECTOR, Entry, Instructions, ledger_entry

TEMPLATES = FileSystemLoader(Path(__file__).with_name("templates"))
PAGES = Environment(loader=TEMPLATES, autoescape=True, trim_blocks=True, lstrip_blocks=True)
WIDEST = 4  # of a bar, em


@dataclass(frozen=True)
class Pause:
    """The watched thread block's state at a barrier, or at its end.

    threads: for each waiting thread, its place, and its variables that are numbers or local arrays
    (masked where unwritten). shared: each shared array's elements, and which of them are written.
    marks: the number of this thread block's accesses to each array so far.
    """

    threads: dict[int, tuple[Site, dict[str, object]]]
    shared: dict[str, tuple[np.ndarray, np.ndarray]]
    marks: dict[str, int]


@dataclass(frozen=True)
class Traffic:
    """The accesses of one line to one array, all threads together.

    function: the line's function, if it is in another file than the kernel. instructions: of warps;
    bytes_used: of global memory, distinct within an instruction, so 32 lanes that read the same 4
    bytes use 4; bytes_asked: in 32-byte sectors, as if there were no cache. bank_passes: over the
    32 banks of shared memory, one for each instruction without a bank conflict. coalescing: the
    share of the bytes asked for that is used. bank_conflict: passes per instruction; 1 is none.
    """

    line: int
    array: str
    space: str
    loads: int
    stores: int
    instructions: int
    bytes_used: int
    bytes_asked: int
    bank_passes: int
    function: str = ""

    coalescing = property(lambda self: self.bytes_used / self.bytes_asked)
    bank_conflict = property(lambda self: self.bank_passes / self.instructions)

    def __str__(self) -> str:
        did = [f"{self.loads:,} loads"] * (self.loads > 0)
        did += [f"{self.stores:,} stores"] * (self.stores > 0)
        cost = f"{self.bank_conflict:.1f} passes over the banks"
        if self.space == "global":
            share = f"{100 * self.coalescing:.3g} % of them"
            cost = f"asked for {self.bytes_asked:,} bytes and used {share}"
        where = f" of {self.function}" if self.function else ""
        return f"line {self.line}{where}: {self.array}: {' and '.join(did)}, {cost}"


@dataclass(repr=False)
class Report:
    """The result of `lab.run`. Print it, display it, or read its `faults`, `ledger`, `traffic`.

    notes: the launch's size and faults. wrong: a sentence about the first difference from the
    expected output; "" if there is none, or if `expect` was not given.
    """

    kernel: Callable
    notes: Notes
    wrong: str
    globals: list[Watched]
    shared: list[Watched]  # of every thread block
    pauses: list[Pause]

    grid = property(lambda self: self.notes.grid)
    threads = property(lambda self: self.notes.threads)
    faults = property(lambda self: self.notes.faults)

    @property
    def file(self) -> str:
        """The kernel's file."""
        return self.kernel.__code__.co_filename

    @cached_property
    def source(self) -> dict[int, str]:
        """{line number: text}; empty if Python cannot find the source."""
        try:
            lines, first = inspect.getsourcelines(self.kernel)
        except OSError:
            return {}
        return dict(enumerate((line.rstrip() for line in lines), first))

    @cached_property
    @collector_held_back()
    def instructions(self) -> list[Instructions]:
        """The instructions of every array, in the order of `globals`, then `shared`."""
        return [Instructions(a, prod(self.threads)) for a in (*self.globals, *self.shared)]

    @cached_property
    def traffic(self) -> list[Traffic]:
        """The traffic of each line and array, in the order of the lines."""
        found: dict[tuple, np.ndarray] = {}
        for one in self.instructions:
            loads, used = one.lanes * ~one.is_store, one.elements * one.array.itemsize
            counts = np.stack(
                [loads, one.lanes - loads, one.lanes > 0, used, one.sectors * SECTOR, one.passes]
            )
            for number in np.unique(one.site):
                site = SITES[number]
                place = ("", "") if site.file == self.file else (site.file, site.function)
                key = *place, site.line, one.array.space, one.array.name
                found[key] = found.get(key, 0) + counts[:, one.site == number].sum(1)
        return [
            Traffic(line, name, space, *counts.tolist(), function)
            for (_, function, line, space, name), counts in sorted(found.items())
        ]

    @cached_property
    def ledger(self) -> list[Entry]:
        """Bytes read of each global array, compared with bytes touched."""
        found = (ledger_entry(one) for one in self.instructions if one.array.space == "global")
        return [entry for entry in found if entry]

    def of(self, array: str) -> Entry:
        """The ledger's entry of one array. Raises KeyError if the array is not read."""
        return {entry.array: entry for entry in self.ledger}[array]

    @property
    def bytes_read(self) -> int:
        """Bytes of global memory that all loads together ask for, in sectors, as if there were no
        cache."""
        return sum(entry.asked for entry in self.ledger)

    @cached_property
    def never_written(self) -> dict[str, int]:
        """The number of unwritten elements of `lab.empty` arrays, by the array's name."""
        outputs = [a for a in self.globals if a.is_output and a.columns.how.any()]
        return {a.name: int((~a.written).sum()) for a in outputs if not a.written.all()}

    def arrays(self, name: str) -> list[Watched]:
        """The global and shared arrays of that name. Raises ValueError, with all names, if none."""
        found = [array for array in (*self.globals, *self.shared) if array.name == name]
        if not found:
            names = ", ".join(dict.fromkeys(a.name for a in (*self.globals, *self.shared)))
            raise ValueError(f"the kernel does not access an array {name!r}; it accesses {names}")
        return found

    @property
    def headline(self) -> str:
        """The launch in one line."""
        blocks = f"{prod(self.grid)} thread block{'s' * (prod(self.grid) != 1)}"
        return f"{self.kernel.__name__}: {blocks} of {prod(self.threads)} threads"

    @property
    def findings(self) -> list[str]:
        """Faults, unwritten outputs, and the wrong element, as sentences."""
        unwritten = self.never_written.items()
        never = [f"{n:,} elements of the array {a} were never written" for a, n in unwritten]
        wrong = [self.wrong] * bool(self.wrong)
        return [*map(str, self.faults), *never, *wrong]

    @property
    def verdict(self) -> str:
        """ "no faults", "3 faults"."""
        number = len(self.faults)
        return f"{number or 'no'} fault{'s' * (number != 1)}"

    def __str__(self) -> str:
        least = sum(entry.used for entry in self.ledger)
        read = f"{self.bytes_read:,} bytes asked for; at least {least:,} are needed"
        parts = (
            [f"{self.headline}\n{self.verdict}", *self.findings],
            [read, *self.ledger, *self.traffic],
        )
        return "\n".join("\n  ".join(map(str, part)) for part in parts)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The source as a page: of each line its faults, its bytes, and a bar of them: used bytes
        in a calm colour, the rest in vermillion."""
        asked, used = Counter(), Counter()
        for each in self.traffic:
            if each.space == "global" and not each.function:
                asked[each.line] += each.bytes_asked
                used[each.line] += each.bytes_used
        em = WIDEST / max(asked.values(), default=1)
        faulty = {fault.line for fault in self.faults if fault.site.file == self.file}
        page = PAGES.get_template("report.html")
        return page.render(report=self, asked=asked, used=used, faulty=faulty, em=em, widest=WIDEST)
