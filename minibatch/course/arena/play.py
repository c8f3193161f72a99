"""A learner's file on the public matches, beside the shipped policies; and handing it in.

What a learner submits lies beside the exercises, so it is in the next hand-in.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minibatch import arena
from minibatch.arena.match import Outcome
from minibatch.arena.traffic import Match
from minibatch.course.arena.judge import division_of, play_file
from minibatch.course.exercises.progress import Progress
from minibatch.course.exercises.source import exercises_folder
from minibatch.course.setup import ROOT

FILES = {"engine": "arena_policy.py", "fleet": "arena_router.py"}
TEMPLATES = {
    "engine": ROOT / "minibatch" / "arena" / "template_policy.py",
    "fleet": ROOT / "minibatch" / "arena" / "template_router.py",
}
YOURS = "yours"


@dataclass(frozen=True)
class Played:
    """A file's score on the public matches. others: the shipped policies' scores."""

    division: str
    score: arena.Score
    outcomes: tuple[Outcome, ...]
    others: dict[str, float]

    @property
    def table(self) -> dict[str, float]:
        """All scores by name, the best first."""
        rows = {YOURS: self.score.total, **self.others}
        return dict(sorted(rows.items(), key=lambda row: -row[1]))

    @property
    def place(self) -> int:
        """Among all, from 1."""
        return 1 + sum(other > self.score.total for other in self.others.values())

    @property
    def planning_s(self) -> float:
        """Processor seconds of the policy's process in all matches."""
        return sum(outcome.planning_s for outcome in self.outcomes)

    def __str__(self) -> str:
        lines = [f"{'score':>7}", *(f"{total:7.3f}  {name}" for name, total in self.table.items())]
        lines.append(f"\nPlace {self.place} of {len(self.table)}; 1 is what the oracle reaches.")
        for title, groups in (("load", self.score.by_load), ("traffic", self.score.by_mix)):
            each = ", ".join(f"{name} {total:.3f}" for name, total in groups.items())
            lines.append(f"By {title}: {each}.")
        each = ", ".join(f"{count} {reason}" for reason, count in self.score.reasons.items())
        lines.append(f"Requests: {each}." if each else "No match was played to its end.")
        for error, count in self.score.errors.items():
            lines.append(f"Stopped in {count} matches: {error}")
        lines.append(f"It used {self.planning_s:.1f} s of processor time (not scored).")
        return "\n".join(lines)


def play_public(
    path: Path,
    progress: Callable[[Match], object] = lambda match: None,
    sandbox: bool | None = None,
) -> Played:
    """Play a file's division on its public seeds, and remember the score. Raises ValueError if
    there is no such file."""
    check_is_file(path)
    division = division_of(path)
    outcomes = play_file(path, arena.matches(division), sandbox=sandbox, progress=progress)
    result = arena.score(outcomes, arena.marks(division))
    played = Played(division, result, tuple(outcomes), arena.public_scores()[division]["scores"])
    Progress().note_arena(division, result.total, played.place, len(played.table))
    return played


def check_is_file(path: Path) -> None:
    """Raises ValueError, with what to do, if it is not."""
    if not Path(path).is_file():
        raise ValueError(
            f"there is no file {path}; `python -m minibatch arena new {path}` makes this file"
        )


def new(path: Path, division: str = "engine") -> Path:
    """Write the template. Raises ValueError if there is such a file."""
    if path.exists():
        raise ValueError(f"{path} exists; give another name, or remove the file")
    shutil.copyfile(TEMPLATES[division], path)
    return path


def submit(path: Path) -> tuple[Path, Played]:
    """Play the file, and put it beside the exercises. Returns its place there, and what was
    played. Raises ValueError for a file that scores nothing."""
    played = play_public(path)
    if not played.score.total:
        raise ValueError(f"{path} scores 0, so it is not submitted:\n\n{played}")
    target = exercises_folder() / FILES[played.division]
    if target.resolve() != Path(path).resolve():
        shutil.copyfile(path, target)
    return target, played
