"""Finds the conflict marks that git writes where two versions of a file do not fit."""

from collections.abc import Iterator
from pathlib import Path

_UPPER, _BASE, _MIDDLE, _END = "<<<<<<< ", "||||||| ", "=======", ">>>>>>> "
_LEARNERS = ("minibatch/**/*.py", "lessons/*.ipynb", "exercises/*.py")


def marked_files(root: Path) -> Iterator[tuple[str, int]]:
    """(path, line of the first mark) of the lessons, exercises and minibatch/ files with marks."""
    for pattern in _LEARNERS:
        for file in sorted(root.glob(pattern)):
            line = marked_line(file.read_text(encoding="utf-8", errors="replace"))
            if line is not None:
                yield file.relative_to(root).as_posix(), line


def marked_line(text: str) -> int | None:
    """The line of the first mark; None if there is none."""
    if _UPPER not in text:
        return None
    lines = text.splitlines()
    begins = [n for n, line in enumerate(lines, 1) if line.startswith(_UPPER)]
    ends = [n for n, line in enumerate(lines, 1) if line.startswith(_END)]
    return begins[0] if begins and ends and begins[0] < ends[-1] else None


def sides(text: str) -> tuple[str, str]:
    """The two versions in a file with conflict marks: the upper sides and the lower sides."""
    upper, lower, side = [], [], "both"
    for line in text.splitlines(keepends=True):
        if line.startswith(_UPPER):
            side = "upper"
        elif side == "upper" and line.startswith(_BASE):
            side = "base"
        elif side in ("upper", "base") and line.rstrip() == _MIDDLE:
            side = "lower"
        elif side == "lower" and line.startswith(_END):
            side = "both"
        else:
            if side in ("both", "upper"):
                upper.append(line)
            if side in ("both", "lower"):
                lower.append(line)
    return "".join(upper), "".join(lower)
