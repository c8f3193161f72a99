"""What can be wrong with a kernel, as sentences: which line, which thread, which element."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Site:
    """A place in the kernel's source: a file, a line, and the columns of one expression in it."""

    file: str
    line: int
    columns: tuple[int, int] = (0, 0)


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
