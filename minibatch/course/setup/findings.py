"""What a look at the computer finds: one line that is fine, a warning, or a failure with a remedy.

Set-up prints them before it downloads anything; the doctor prints all it can find.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class SetupError(Exception):
    """A command cannot go on; the message says why and what to do."""


class Status(StrEnum):
    """How a finding stands; the value is the word that is printed."""

    OK = "OK"
    WARNING = "warning"
    FAILURE = "failure"


_SYMBOLS = {Status.OK: "✓", Status.WARNING: "!", Status.FAILURE: "✗"}
_PLAIN_SYMBOLS = {Status.OK: "+", Status.WARNING: "!", Status.FAILURE: "x"}


@dataclass(frozen=True, slots=True)
class Finding:
    """One line: what was looked at, what was seen, and, unless it is fine, what to do."""

    topic: str
    status: Status
    seen: str
    to_do: str = ""

    def __post_init__(self) -> None:
        if (self.status is Status.OK) == bool(self.to_do):
            raise ValueError(f"{self.topic}: exactly what is not OK says what to do")


def fine(topic: str, seen: str) -> Finding:
    """A finding that needs nothing."""
    return Finding(topic, Status.OK, seen)


def warning(topic: str, seen: str, to_do: str) -> Finding:
    """A finding that one can live with, and what would mend it."""
    return Finding(topic, Status.WARNING, seen, to_do)


def failure(topic: str, seen: str, to_do: str) -> Finding:
    """A finding that stands in the way, and what to do about it."""
    return Finding(topic, Status.FAILURE, seen, to_do)


def failed(findings: Iterable[Finding]) -> bool:
    """Whether any of them stands in the way."""
    return any(finding.status is Status.FAILURE for finding in findings)


def show(finding: Finding) -> None:
    """Print one line, and a second that says what to do."""
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
