"""Judges a class: submissions in parallel, each one in a sandbox and in its own copy."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from tqdm.auto import tqdm

from minibatch.course.classroom.reports import write_reports
from minibatch.course.classroom.results import ClassResult, StudentResult
from minibatch.course.classroom.submissions import (
    Submission,
    SubmissionError,
    declared_name,
    submissions,
)
from minibatch.course.exercises.source import PATCH, Task, all_tasks
from minibatch.course.judging import sandbox
from minibatch.course.judging.graders import close_all
from minibatch.course.judging.judge import GRADERS, JudgeError, Options, judge
from minibatch.course.judging.submitted_edits import left_out
from minibatch.course.judging.worker_files import remove

MOST_TIMEOUTS = 3
ROWS = "rows"  # the folder, beside the reports, with each student's result


def grade_class(
    folder: Path,
    out: Path,
    options: Options | None = None,
    jobs: int | None = None,
    tasks: Iterable[Task] | None = None,
    no_sandbox: bool = False,
) -> ClassResult:
    """Judge every submission in `folder`, and write the reports to `out`.

    jobs: submissions judged at a time; None is one for each core. no_sandbox: judge even if this
    computer has no sandbox. Raises ValueError if there is no submission, or if there is no sandbox
    and no_sandbox is False. A failing submission affects only its own row. Rows
    are written at once, so a run that was stopped continues where it was.
    """
    found = submissions(folder)
    if not found:
        raise ValueError(f"{folder} holds no submission: a folder or a zip for each student")
    if (lacks := what_is_missing()) and not no_sandbox:
        raise ValueError(lacks)
    tasks = list(tasks or all_tasks().values())
    options = replace(
        options or Options(), sandbox=None if no_sandbox else True, max_timeouts=MOST_TIMEOUTS
    )
    (out / ROWS).mkdir(parents=True, exist_ok=True)
    version = _version(tasks, options)
    rows: dict[Submission, StudentResult] = {}
    pool = ThreadPoolExecutor(jobs or os.cpu_count() or 1)
    try:
        waiting = {pool.submit(_row, s, tasks, options, out, version): s for s in found}
        for done in tqdm(as_completed(waiting), total=len(found), unit="student"):
            rows[waiting[done]] = done.result()
    except KeyboardInterrupt:
        pool.shutdown(wait=False, cancel_futures=True)
        close_all()  # their threads would wait for them, for up to a minute
        print("Stopped; students that were being judged are left out.")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    students = [rows[submission] for submission in found if submission in rows]
    result = ClassResult(students, tasks, out, lacks, num_open=len(found) - len(students))
    write_reports(result)
    return result


def what_is_missing() -> str:
    """Why this computer has no sandbox, and what to do; "" if it has one."""
    lacks = " and ".join(sandbox.missing())
    if not lacks:
        return ""
    return (
        f"This computer has no sandbox for submissions (it lacks {lacks}). Submissions could do "
        "everything that you can: read the solutions and your files, and use the network. Grade "
        "on Linux 5.13 or newer, or in a container there (TEACHING.md says how); --no-sandbox "
        "grades without one."
    )


def _row(
    submission: Submission, tasks: list[Task], options: Options, out: Path, version: str
) -> StudentResult:
    """One student's row: the stored one, if nothing has changed since. A row that a fault of the
    judge has spoiled, such as a full disk, is not stored: the next run judges it again."""
    copy = Path(tempfile.mkdtemp(prefix="minibatch-class-"))
    file = out / ROWS / f"{submission.safe_name}.json"
    try:
        try:
            ours = submission.copy_to(copy)
        except SubmissionError as error:
            return StudentResult(submission.name, submission.safe_name, note=str(error))
        version = f"{version} {digest(sorted(p for p in copy.rglob('*') if p.is_file()))}"
        if (known := _stored_row(file, version)) is not None:
            return replace(known, name=submission.name, safe_name=submission.safe_name)
        result = _judged(submission, copy, ours, tasks, options)
        if not result.is_final:
            return result
        text = json.dumps({"version": version, "row": result.to_dict()}, indent=1)
        fresh = file.with_suffix(".new")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(file)
        return result
    except Exception as error:  # an error of ours must not stop the other students' judging
        note = f"could not be judged: {type(error).__name__}: {error}"
        return StudentResult(submission.name, submission.safe_name, note=note)
    finally:
        remove(copy)


def _judged(
    submission: Submission, copy: Path, ours: list[str], tasks: list[Task], options: Options
) -> StudentResult:
    result = StudentResult(submission.name, submission.safe_name)
    notes = [f"hands in as {name}"] if (name := declared_name(copy)) else []
    try:
        result.verdicts = judge(tasks, copy, options)
        if any("not_judged" in r.codes for v in result.verdicts for r in v.results):
            notes.append(f"stopped after {MOST_TIMEOUTS} tasks that never ended")
        if not result.is_final:
            notes.append("the judge itself failed; run the same command again")
    except JudgeError as error:
        notes.append(f"could not be judged: {str(error).splitlines()[0]}")
    if ours:
        notes.append(f"same as the course's own solution: {', '.join(sorted(ours))}")
    rooms = [room for task in tasks for room in task.may_change]
    if rooms and (copy / PATCH).is_file() and (names := left_out(copy / PATCH, rooms)):
        notes.append(f"left out from {PATCH}: {', '.join(names[:5])}")
    result.note = "; ".join(notes)
    return result


def _stored_row(file: Path, version: str) -> StudentResult | None:
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        return StudentResult.from_dict(data["row"]) if data["version"] == version else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _version(tasks: list[Task], options: Options) -> str:
    """A digest of what a verdict depends on besides the submission: tasks, graders, limits."""
    files = [*GRADERS.glob("*.py"), *Path(sandbox.__file__).parent.glob("*.py")]
    files += options.hidden.rglob("*.py") if options.hidden else []
    settings = f"{[task.id for task in tasks]} {options.seconds} {options.seed}"
    return hashlib.sha256((settings + digest(sorted(files))).encode()).hexdigest()


def digest(files: list[Path]) -> str:
    """Of the names of these files, and of their contents."""
    total = hashlib.sha256()
    for path in files:
        if path.is_file():
            total.update(path.name.encode(errors="replace") + b"\0")
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()
