"""Has pytest judge a submission, in a process of its own, and reads its verdicts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.exercises.source import Task, exercises_folder
from minibatch.course.judging.verdict import UNSEALED, TestResult, Verdict
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

GRADERS = ROOT / "tests" / "exercises"


class JudgeError(Exception):
    """The graders could not do their work: a fault of the course, not of the submission."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge.

    sealed: shut the learner's code in or judge nothing; None shuts it in as far as this computer
    can; False leaves it open. seconds: for each task; max_timeouts: of so many, then no more.
    """

    hidden: Path | None = None
    sealed: bool | None = None
    seconds: float = 20.0
    max_timeouts: int | None = None
    seed: int | None = None


def judge(
    tasks: Iterable[Task], submission: Path | None = None, options: Options | None = None
) -> list[Verdict]:
    """A verdict for each of the tasks, in their order. Raises JudgeError if one had no grader.

    submission: a folder with files called as in exercises/; None is the learner's own. Whatever
    that does, this comes to an end: after `seconds` for each task, and some for the judge itself.
    """
    tasks, options = list(tasks), options or Options()
    submission = (submission or exercises_folder()).resolve()
    with tempfile.TemporaryDirectory(prefix="minibatch-judge-", ignore_cleanup_errors=True) as room:
        command = [sys.executable, "-m", "minibatch.course.judging.run_graders"]
        command += [*_arguments(tasks, submission, options), "--basetemp", str(Path(room) / "tmp")]
        out, said, is_late = _run(command, seconds=60 + len(tasks) * (options.seconds + 20))
    results: dict[str, list[TestResult]] = {}
    printed: dict[str, str] = {}
    for line in out.splitlines():
        message = json.loads(line)
        results.setdefault(message["task"], []).extend(
            TestResult(**result) for result in message.get("results", [])
        )
        printed[message["task"]] = message.get("printed", "")
    unsealed = [r for found in results.values() for r in found if r.name == UNSEALED]
    if unsealed:
        raise JudgeError(unsealed[0].sentence)
    missing = [task.id for task in tasks if not results.get(task.id)]
    if missing and is_late:
        raise JudgeError(f"judging took too long and was ended before {', '.join(missing)}")
    if missing:
        raise JudgeError(f"no grader ran for {', '.join(missing)}; the last lines said:\n{said}")
    return [
        Verdict(task.id, task.title, task.stem, results[task.id], printed.get(task.id, ""))
        for task in tasks
    ]


def _run(command: list[str], seconds: float) -> tuple[str, str, bool]:
    """What the graders' process reported, the end of what pytest said, and whether it was late."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={
            **environment_variables(),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    try:
        out, said = process.communicate(timeout=seconds)
        is_late = False
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
        is_late = True
    finally:
        process.kill()  # interrupted: nothing goes on
    return out, "\n".join(said.splitlines()[-30:]), is_late


def _arguments(tasks: list[Task], submission: Path, options: Options) -> list[str]:
    folders = [GRADERS, *([options.hidden.resolve()] if options.hidden else [])]
    files = sorted({GRADERS / f"test_{task.stem}.py" for task in tasks})
    chosen = [str(path) for path in (files if not options.hidden else folders)]
    arguments = [*chosen, "-q", "--no-header", "-p", "no:cacheprovider", "--timeout=0"]
    arguments += [part for task in tasks for part in ("--task", task.id)]
    arguments += ["--submission", str(submission), "--seconds", str(options.seconds)]
    if options.hidden:
        arguments += ["--hidden", str(options.hidden), "--rootdir", str(ROOT)]
    if options.sealed is not None:
        arguments += ["--sealed" if options.sealed else "--unsealed"]
    if options.max_timeouts is not None:
        arguments += ["--max-timeouts", str(options.max_timeouts)]
    if options.seed is not None:
        arguments += ["--seed", str(options.seed)]
    return arguments
