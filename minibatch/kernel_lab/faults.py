"""A kernel's faults, as sentences with the line, the thread and the element."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from sys import _getframe
from types import CodeType, FrameType
from typing import Any, NamedTuple

OWN_FILES = {str(path) for path in Path(__file__).parent.glob("*.py")}


class Site(NamedTuple):
    """A place in a kernel's source: file, line, function, and the columns of one expression."""

    file: str
    line: int
    function: str = ""
    columns: tuple[int, int] = (0, 0)

    # the text of that line; "" if Python does not find it
    text = property(lambda self: linecache.getline(self.file, self.line).strip())

    def seen_from(self, file: str) -> str:
        """ "line 3", or "line 3 of load" for a function in another file or notebook cell, where
        line numbers begin at 1, too."""
        return f"line {self.line}" + (f" of {self.function}" if self.file != file else "")


def site_number(frame: FrameType) -> int:
    """The index in SITES of a frame's current place."""
    key = (id(frame.f_code), frame.f_lasti)  # a code object's own hash reads all of its code
    if key not in _NUMBERS:
        code = frame.f_code
        line, _, start, end = list(code.co_positions())[frame.f_lasti // 2]
        columns = start or 0, end or 0
        site = Site(code.co_filename, line or code.co_firstlineno, code.co_name, columns)
        if site not in SITES:
            SITES.append(site)
        _NUMBERS[key] = SITES.index(site), code  # kept, so that its id is not reused
    return _NUMBERS[key][0]


SITES: list[Site] = []
_NUMBERS: dict[tuple[int, int], tuple[int, CodeType]] = {}


def kernel_frame(frame: FrameType | None = None) -> FrameType:
    """The first frame that is not the lab's own, from this frame (default: the caller's) up."""
    frame = frame or _getframe(1)
    while frame.f_code.co_filename in OWN_FILES and frame.f_back:
        frame = frame.f_back
    return frame


def call_stack(frame: FrameType) -> Iterator[FrameType]:
    """A kernel's frame, and those of its callers up to the lab's."""
    while frame and frame.f_code.co_filename not in OWN_FILES:
        yield frame
        frame = frame.f_back


def site_here(frame: FrameType | None = None) -> Site:
    """The kernel's current place."""
    return SITES[site_number(kernel_frame(frame))]


@dataclass
class Fault:
    """kind: "race", "out of bounds", "unwritten", "foreign", "divergence", "shuffle", "deadlock",
    "no end".

    where: the site's name in the sentence. count: how often the fault was found at this line; the
    sentence is about the first. others: further lines involved, such as the second of a race.
    """

    kind: str
    site: Site
    where: str
    sentence: str
    thread: tuple[int, ...]  # x, y, z of its block, then its own
    others: list[Site]
    count: int

    line = property(lambda self: self.site.line)

    def __str__(self) -> str:
        more = f" (the lab found {self.count:,} such cases)" if self.count > 1 else ""
        return f"{self.where}: {self.kind}: {self.sentence}{more}"


class Stop(Exception):
    """Ends a launch: results after this fault would be meaningless."""


class Notes:
    """State that the parts of a launch share: its size, the running thread, and the faults."""

    thread: Any = None  # the Thread that runs now
    switch_threads: Callable[[], None] | None = None  # with a schedule: may run another thread
    to_hub: Callable  # leaves a thread that waits

    def __init__(self, grid: tuple, threads: tuple, most_accesses: int, file: str = "") -> None:
        """file: the kernel's. most_accesses: a launch with more ends with a "no end" fault."""
        self.grid, self.threads, self.file = grid, threads, file
        self.moment, self._most, self._found = 0, most_accesses, {}

    @property
    def faults(self) -> list[Fault]:
        """In the order of the lines; one for each kind, line and array."""
        found = self._found.values()
        return sorted(found, key=lambda each: (each.site.file != self.file, each.line))

    def where(self, site: Site) -> str:
        """The site's name in a sentence."""
        return site.seen_from(self.file)

    def fault(
        self, kind: str, text: str, *sites: Site, what: str = "", thread: Any = None, count: int = 1
    ) -> None:
        """Record a fault. text: a sentence with {who} for the thread, by default the running one.
        sites: by default, the kernel's current place. what: distinguishes faults of one line.
        count: how often it was found."""
        site, *others = sites or (site_here(),)
        key = (kind, site.file, site.line, what)
        if key in self._found:
            self._found[key].count += count
            return
        thread = thread or self.thread
        sentence, place = text.replace("{who}", thread.name), thread.block + thread.index
        self._found[key] = Fault(kind, site, self.where(site), sentence, place, others, count)

    def count(self) -> None:
        """Count one more access or meeting. Raises Stop at the limit."""
        self.moment += 1
        if self.moment > self._most:
            text = f"an endless loop? {{who}} is still running after {self._most:,} accesses "
            self.fault("no end", text + "and barriers (`most_accesses` allows more)")
            raise Stop
        if self.switch_threads:
            self.switch_threads()
