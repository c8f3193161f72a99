"""What grading a class comes to: a row for each student."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from minibatch.course.exercises.source import Task
from minibatch.course.judging.verdict import NOT_ATTEMPTED, PASSED, Verdict


@dataclass(slots=True)
class StudentResult:
    """One row. note: why there are no verdicts, or what to know of them; "" if all is as usual."""

    name: str
    safe_name: str
    verdicts: list[Verdict] = field(default_factory=list)
    note: str = ""

    @property
    def points(self) -> float:
        return sum(verdict.points for verdict in self.verdicts)

    def most(self, tasks: list[Task]) -> float:
        """Points there were, hidden tests' too."""
        return sum(v.max_points for v in self.verdicts) or sum(task.points for task in tasks)

    def to_dict(self) -> dict:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict) -> StudentResult:
        verdicts = [Verdict.from_dict(verdict) for verdict in data["verdicts"]]
        return cls(**{**data, "verdicts": verdicts})


@dataclass(slots=True)
class ClassResult:
    """All rows, in the order of names. out: the folder with the reports."""

    students: list[StudentResult]
    tasks: list[Task]
    out: Path
    missing: str = ""  # what this computer could not shut, in a sentence
    num_open: int = 0  # students not judged, since the run was stopped

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
        width = max((len(s.safe_name) for s in self.students), default=0)
        lines = [
            f"{student.safe_name:<{width}}  {student.points:5g} of {student.most(self.tasks):g}  "
            f"{student.note}".rstrip()
            for student in self.students
        ]
        lines.append(f"\nReports: {self.out / 'class.html'}, {self.out / 'grades.csv'}")
        if self.num_open:
            lines.append(f"Stopped with {self.num_open} to go; the same command goes on with them.")
        return "\n".join([*lines, self.missing] if self.missing else lines)
