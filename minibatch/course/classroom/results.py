"""What grading a class comes to: a row for each student."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from minibatch.course.exercises.source import Task
from minibatch.course.judging import confinement
from minibatch.course.judging.verdict import NOT_ATTEMPTED, PASSED, Verdict


@dataclass(slots=True)
class StudentResult:
    """One row. note: why there are no verdicts, or why they stop, "" if all went as it should."""

    name: str
    safe_name: str
    verdicts: list[Verdict] = field(default_factory=list)
    note: str = ""

    @property
    def points(self) -> float:
        return sum(verdict.points for verdict in self.verdicts)


@dataclass(slots=True)
class ClassResult:
    """All rows, in the order of names. out: the folder with the reports."""

    students: list[StudentResult]
    tasks: list[Task]
    out: Path
    holds: list[str]  # parts of the seal that this computer can put on a desk

    @property
    def missing(self) -> str:
        """What this computer could not shut, in a sentence; "" if all held."""
        missing = [part for part in confinement.SEAL if part not in self.holds]
        return f"{_UNSEALED} Missing: {', '.join(missing)}." if missing else ""

    def misconception(self, task: Task) -> str:
        """The sentence that most students were told first about a task; "" if none was."""
        told = Counter(
            verdict.first_problem.sentence
            for student in self.students
            for verdict in student.verdicts
            if verdict.task == task.id and verdict.outcome not in (PASSED, NOT_ATTEMPTED)
        )
        return told.most_common(1)[0][0] if told else ""

    def summary(self) -> str:
        """For the terminal: a line each, then where the reports are."""
        most = sum(task.points for task in self.tasks)
        width = max((len(s.safe_name) for s in self.students), default=0)
        lines = [
            f"{student.safe_name:<{width}}  {student.points:5g} of {most}  {student.note}".rstrip()
            for student in self.students
        ]
        lines.append(f"\nReports: {self.out / 'class.html'}, {self.out / 'grades.csv'}")
        return "\n".join([*lines, self.missing] if self.missing else lines)


_UNSEALED = (
    "This computer cannot shut submissions in completely: their time and output were limited, but "
    "grade strangers' code on Linux (kernel 5.13 or newer), or in a container."
)
