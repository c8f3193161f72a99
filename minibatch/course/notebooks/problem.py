"""A finding of a checker of the course's pages: where, what is wrong, and what to do."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Problem:
    """One line of a report."""

    path: Path
    cell: str | None  # the cell's id; None: the file as a whole
    sentence: str

    def __str__(self) -> str:
        here = Path.cwd()
        path = self.path.relative_to(here) if self.path.is_relative_to(here) else self.path
        return f"{path}: " + (f'cell "{self.cell}" ' if self.cell else "") + self.sentence
