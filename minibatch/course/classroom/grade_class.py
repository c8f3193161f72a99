"""Judges a class: every submission sealed, side by side, each in a copy of its own."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from tqdm.auto import tqdm

from minibatch.course.classroom.submissions import Submission, SubmissionError, submissions
from minibatch.course.exercises.source import Task, all_tasks
from minibatch.course.judging import confinement
from minibatch.course.judging.judge import JudgeError, Options, judge
from minibatch.course.judging.verdict import NOT_ATTEMPTED, PASSED, Verdict

MOST_TIMEOUTS = 3


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


def grade_class(
    folder: Path,
    out: Path,
    options: Options | None = None,
    jobs: int | None = None,
    tasks: Iterable[Task] | None = None,
) -> ClassResult:
    """Judge every submission in `folder`, and write the reports to `out`.

    jobs: submissions judged at a time; None is one for each core. Raises ValueError if there is no
    submission. Whatever a submission does ends in its own row.
    """
    from minibatch.course.classroom.reports import write_reports

    found = submissions(folder)
    if not found:
        raise ValueError(f"{folder} holds no submission: a folder or a zip for each student")
    tasks = list(tasks or all_tasks().values())
    options = replace(options or Options(), sealed=True, max_timeouts=MOST_TIMEOUTS)

    def one(submission: Submission) -> StudentResult:
        return _grade(submission, tasks, options)

    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        students = list(tqdm(pool.map(one, found), total=len(found), unit="student"))
    _tell_apart(students)
    result = ClassResult(students, tasks, out, confinement.what_holds())
    write_reports(result)
    return result


def _grade(submission: Submission, tasks: list[Task], options: Options) -> StudentResult:
    result = StudentResult(submission.name, submission.safe_name)
    try:
        with tempfile.TemporaryDirectory(prefix="minibatch-class-") as copy:
            submission.copy_to(Path(copy))
            result.verdicts = judge(tasks, Path(copy), options)
        late = [v.task for v in result.verdicts for r in v.results if "not judged: " in r.sentence]
        if late:
            result.note = f"stopped after {MOST_TIMEOUTS} tasks that never ended"
    except SubmissionError as error:
        result.note = str(error)
    except JudgeError as error:
        result.note = f"could not be judged: {str(error).splitlines()[0]}"
    except Exception as error:  # of ours, but it must not cost the others theirs
        result.note = f"could not be judged: {type(error).__name__}: {error}"
    return result


def _tell_apart(students: list[StudentResult]) -> None:
    """Two whose names give the same file name get a number each."""
    seen: Counter[str] = Counter()
    for student in students:
        seen[student.safe_name.lower()] += 1
        if (number := seen[student.safe_name.lower()]) > 1:
            student.safe_name += f"-{number}"
