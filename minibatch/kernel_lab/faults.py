"""What can be wrong with a kernel, as sentences: which line, which thread, which element."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from sys import _getframe
from types import CodeType
from typing import Any

MOST_FAULTS = 50


@dataclass(frozen=True)
class Site:
    """A place in the kernel's source: a file, a line, and the columns of one expression in it."""

    file: str
    line: int
    columns: tuple[int, int] = (0, 0)


@cache
def site_of(code: CodeType, instruction: int) -> Site:
    """Where an instruction comes from; `instruction` is a frame's f_lasti."""
    line, _, start, end = list(code.co_positions())[instruction // 2]
    return Site(code.co_filename, line or code.co_firstlineno, (start or 0, end or 0))


@dataclass
class Fault:
    """kind: "race", "out of bounds", "unwritten", "divergence", "shuffle", "deadlock", "no end".

    count: how often the same was seen at the same line; the sentence tells the first.
    others: further lines that have a part in it, as a race has two.
    """

    kind: str
    site: Site
    sentence: str
    thread: tuple[int, ...] | None = None
    others: list[Site] = field(default_factory=list)
    count: int = 1

    @property
    def line(self) -> int:
        return self.site.line

    def __str__(self) -> str:
        more = f" ({self.count:,} times)" if self.count > 1 else ""
        return f"line {self.line}: {self.kind}: {self.sentence}{more}"


class Faults(list):
    """One entry for each kind, line and array, however often it happens."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[tuple, Fault] = {}

    def report(self, fault: Fault, what: str = "") -> None:
        key = (fault.kind, fault.site.file, fault.site.line, what)
        if key in self._known:
            self._known[key].count += fault.count
        else:
            self._known[key] = fault
            self.append(fault)


class Stop(Exception):
    """Ends a launch: what comes after this fault would mean nothing."""


class Notes:
    """What the parts of a launch share: its size, whose turn it is, and what has gone wrong."""

    thread: Any = None  # the Thread whose turn it is

    def __init__(
        self, grid: tuple[int, int, int], threads: tuple[int, int, int], most_accesses: int
    ) -> None:
        self.grid, self.threads = grid, threads
        self.faults = Faults()
        self._left = self._most = most_accesses

    def fault(
        self,
        kind: str,
        sentence: str,
        site: Site,
        what: str = "",
        thread: Any = None,
        others: list[Site] | None = None,
    ) -> None:
        """sentence: with {who} for the thread. what: tells faults of one line apart."""
        thread = thread or self.thread
        who = thread.name[0].upper() + thread.name[1:] if sentence.startswith("{") else thread.name
        where = thread.block + thread.index
        self.faults.report(
            Fault(kind, site, sentence.replace("{who}", who), where, others or []), what
        )
        if len(self.faults) >= MOST_FAULTS:
            raise Stop

    def count(self) -> None:
        """One more access or meeting, of a thread three frames up."""
        self._left -= 1
        if self._left < 0:
            frame = _getframe(3)
            self.fault(
                "no end",
                f"{{who}} is still at work after {self._most:,} accesses and meetings of all "
                "threads together: a loop without an end? (`most_accesses` allows more)",
                site_of(frame.f_code, frame.f_lasti),
            )
            raise Stop
