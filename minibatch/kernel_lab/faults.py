"""What can be wrong with a kernel, as sentences: which line, which thread, which element."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from sys import _getframe
from types import CodeType, FrameType
from typing import Any, NamedTuple

MOST_FAULTS = 50
REMARK = "early return"
OWN_FILES = {str(path) for path in Path(__file__).parent.glob("*.py")}


class Site(NamedTuple):
    """A place in a kernel's source: file, line, function, and the columns of one expression."""

    file: str
    line: int
    function: str = ""
    columns: tuple[int, int] = (0, 0)

    @property
    def text(self) -> str:
        """What stands in that line, if Python finds it."""
        return linecache.getline(self.file, self.line).strip()

    def seen_from(self, file: str) -> str:
        """ "line 3", or "line 3 of load" for a function of another file or notebook cell, whose
        lines are numbered from 1, too."""
        return f"line {self.line}" + (f" of {self.function}" if self.file != file else "")


def site_number(frame: FrameType) -> int:
    """Where a frame stands, as a place in SITES."""
    key = (id(frame.f_code), frame.f_lasti)  # a code object's own hash reads all of its code
    if key not in _NUMBERS:
        code = frame.f_code
        line, _, start, end = list(code.co_positions())[frame.f_lasti // 2]
        columns = start or 0, end or 0
        site = Site(code.co_filename, line or code.co_firstlineno, code.co_name, columns)
        if site not in SITES:
            SITES.append(site)
        _NUMBERS[key] = SITES.index(site), code  # held, so that no other is given its id
    return _NUMBERS[key][0]


SITES: list[Site] = []
_NUMBERS: dict[tuple[int, int], tuple[int, CodeType]] = {}


def kernel_frame(frame: FrameType | None = None) -> FrameType:
    """This frame, by default the caller's, or the first above it that is not the lab's own."""
    frame = frame or _getframe(1)
    while frame.f_code.co_filename in OWN_FILES and frame.f_back:
        frame = frame.f_back
    return frame


def site_here(frame: FrameType | None = None) -> Site:
    """Where the kernel stands."""
    return SITES[site_number(kernel_frame(frame))]


@dataclass
class Fault:
    """kind: "race", "out of bounds", "unwritten", "foreign", "divergence", "shuffle", "deadlock",
    "no end"; of a remark, "early return".

    where: the site as a sentence names it. count: how often the same was seen at the same line; the
    sentence tells the first. others: further lines that have a part in it, as a race has two.
    """

    kind: str
    site: Site
    where: str
    sentence: str
    thread: tuple[int, ...]  # x, y, z of its block, then its own
    others: list[Site]
    count: int

    @property
    def line(self) -> int:
        return self.site.line

    def __str__(self) -> str:
        more = f" ({self.count:,} times)" if self.count > 1 else ""
        kind = "" if self.kind == REMARK else f" {self.kind}:"
        return f"{self.where}:{kind} {self.sentence}{more}"


class Stop(Exception):
    """Ends a launch: what comes after this fault would mean nothing."""


class Notes:
    """What the parts of a launch share: its size, whose turn it is, and what has gone wrong."""

    thread: Any = None  # the Thread whose turn it is
    give_way: Callable[[], None] | None = None  # under a schedule: perhaps another's turn

    def __init__(self, grid: tuple, threads: tuple, most_accesses: int, file: str = "") -> None:
        """file: the kernel's."""
        self.grid, self.threads, self.file = grid, threads, file
        self.moment, self._most = 0, most_accesses
        self._found: dict[tuple, Fault] = {}

    @property
    def faults(self) -> list[Fault]:
        """In the order of the lines; one for each kind, line and array, however often."""
        return self._sorted(lambda kind: kind != REMARK)

    @property
    def remarks(self) -> list[Fault]:
        """What is no fault, and worth knowing."""
        return self._sorted(lambda kind: kind == REMARK)

    def _sorted(self, wanted: Callable[[str], bool]) -> list[Fault]:
        found = [fault for fault in self._found.values() if wanted(fault.kind)]
        return sorted(found, key=lambda fault: (fault.site.file != self.file, fault.line))

    def where(self, site: Site) -> str:
        """What a sentence calls it."""
        return site.seen_from(self.file)

    def fault(
        self,
        kind: str,
        said: str,
        *sites: Site,
        what: str = "",
        thread: Any = None,
        count: int = 1,
    ) -> None:
        """said: with {who} for the thread, by default whose turn it is. sites: by default, where
        the kernel stands. what: tells faults of one line apart. count: how often it was seen."""
        site, *others = sites or (site_here(),)
        key = (kind, site.file, site.line, what)
        if key in self._found:
            self._found[key].count += count
            return
        thread = thread or self.thread
        said, who = said.replace("{who}", thread.name), thread.block + thread.index
        self._found[key] = Fault(kind, site, self.where(site), said, who, others, count)
        if len(self._found) >= MOST_FAULTS:
            raise Stop

    def count(self) -> None:
        """One more access or meeting."""
        self.moment += 1
        if self.moment > self._most:
            self.no_end(f"after {self._most:,} accesses and meetings (`most_accesses` allows more)")
            raise Stop
        if self.give_way:
            self.give_way()

    def no_end(self, when: str, *sites: Site) -> None:
        self.fault("no end", f"{{who}} is still at work {when}: a loop without an end?", *sites)
