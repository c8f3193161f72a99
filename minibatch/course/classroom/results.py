"""The result of grading a class: a row for each student."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

from minibatch.course.exercises.source import Task
from minibatch.course.judging.verdict import NOT_ATTEMPTED, PASSED, Verdict


@dataclass(slots=True)
class StudentResult:
    """One row. note: why there are no verdicts, or a remark about them; "" if there is none."""

    name: str
    safe_name: str
    verdicts: list[Verdict] = field(default_factory=list)
    note: str = ""

    @property
    def is_final(self) -> bool:
        """Whether all of it was judged, without a fault of the judge's own."""
        results = [result for verdict in self.verdicts for result in verdict.results]
        return bool(results) and not any("grader_failed" in r.codes for r in results)

    @property
    def points(self) -> float:
        return sum(verdict.points for verdict in self.verdicts)

    def most(self, tasks: list[Task]) -> float:
        """The maximum of points, with hidden tests."""
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
    missing: str = ""  # what the sandbox lacks on this computer, in a sentence
    num_open: int = 0  # students not judged because the run was stopped

    def misconception(self, task: Task) -> str:
        """The most frequent first sentence of a task's verdicts; "" if there is none. A hidden
        test's sentence is left out: it may name the test's arguments."""
        problems = (
            next((r for r in verdict.results if r.outcome != PASSED and not r.hidden), None)
            for student in self.students
            for verdict in student.verdicts
            if verdict.task == task.id and verdict.outcome != NOT_ATTEMPTED
        )
        counts = Counter(problem.sentence for problem in problems if problem is not None)
        return counts.most_common(1)[0][0] if counts else ""

    def summary(self) -> str:
        """For the terminal: a line for each student, then where the reports are."""
        width = max((len(s.safe_name) for s in self.students), default=0)
        lines = [
            f"{student.safe_name:<{width}}  {student.points:5g} of {student.most(self.tasks):g}  "
            f"{student.note}".rstrip()
            for student in self.students
        ]
        lines.append(f"\nReports: {self.out / 'class.html'}, {self.out / 'grades.csv'}")
        if self.num_open:
            lines.append(
                f"Stopped; {self.num_open} are left. The same command continues with them."
            )
        return "\n".join([*lines, self.missing] if self.missing else lines)
