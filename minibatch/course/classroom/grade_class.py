"""Judges a class: every submission sealed, side by side, each in a copy of its own."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from tqdm.auto import tqdm

from minibatch.course.classroom.reports import write_reports
from minibatch.course.classroom.results import ClassResult, StudentResult
from minibatch.course.classroom.submissions import Submission, SubmissionError, submissions
from minibatch.course.exercises.source import Task, all_tasks
from minibatch.course.judging import confinement
from minibatch.course.judging.judge import JudgeError, Options, judge

MOST_TIMEOUTS = 3


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
