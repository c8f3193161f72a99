"""The result of a check of the computer: a line that is fine, a warning, or a failure with a fix.

Set-up prints some before it downloads anything; the doctor prints all.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class SetupError(Exception):
    """A command cannot go on; the message says why and what to do."""


class Status(StrEnum):
    """A finding's status; the value is the printed word."""

    OK = "OK"
    WARNING = "warning"
    FAILURE = "failure"


_SYMBOLS = {Status.OK: "✓", Status.WARNING: "!", Status.FAILURE: "✗"}
_PLAIN_SYMBOLS = {Status.OK: "+", Status.WARNING: "!", Status.FAILURE: "x"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was checked, what was seen and, unless it is fine, what to do."""

    topic: str
    status: Status
    seen: str
    to_do: str = ""

    def __post_init__(self) -> None:
        if (self.status is Status.OK) == bool(self.to_do):
            raise ValueError(f"{self.topic}: exactly what is not OK says what to do")


def fine(topic: str, seen: str) -> Finding:
    """A finding that does not need a fix."""
    return Finding(topic, Status.OK, seen)


def warning(topic: str, seen: str, to_do: str) -> Finding:
    """A finding with which the course still runs, and its fix."""
    return Finding(topic, Status.WARNING, seen, to_do)


def failure(topic: str, seen: str, to_do: str) -> Finding:
    """A finding with which the course cannot run, and its fix."""
    return Finding(topic, Status.FAILURE, seen, to_do)


def failed(findings: Iterable[Finding]) -> bool:
    """Whether any of them is a failure."""
    return any(finding.status is Status.FAILURE for finding in findings)


def show(finding: Finding) -> None:
    """Print one line, and a second one with the fix."""
    symbol = _symbols()[finding.status]
    print(f"  {symbol} {finding.status:<8} {finding.topic:<12} {finding.seen}")
    if finding.to_do:
        print(f"{'':27}{finding.to_do}")


def _symbols() -> dict[Status, str]:
    try:
        "✓✗".encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:  # an old Windows console
        return _PLAIN_SYMBOLS
    return _SYMBOLS
