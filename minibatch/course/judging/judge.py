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
from minibatch.course.judging.verdict import Verdict
from minibatch.course.setup import ROOT
from minibatch.course.setup.process import environment_variables

GRADERS = ROOT / "tests" / "exercises"


class JudgeError(Exception):
    """The graders could not do their work: a fault of the course, not of the submission."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge. seconds: for each task; max_timeouts: stop after so many endless tasks."""

    hidden: Path | None = None
    sealed: bool = False
    seconds: float = 20.0
    max_timeouts: int | None = None
    seed: int | None = None


def judge(
    tasks: Iterable[Task], submission: Path | None = None, options: Options | None = None
) -> list[Verdict]:
    """A verdict for each of the tasks, in their order. Raises JudgeError if one had no grader.

    submission: a folder with files called as in exercises/; None is the learner's own.
    """
    tasks, options = list(tasks), options or Options()
    submission = (submission or exercises_folder()).resolve()
    with tempfile.TemporaryDirectory(prefix="minibatch-judge-") as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pytest", *_arguments(tasks, submission, options)]
        command += ["--report", str(report), "--basetemp", str(Path(folder) / "tmp")]
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={
                **environment_variables(),
                "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            },
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
        )
        try:
            data = json.loads(report.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            tail = "\n".join((done.stdout + done.stderr).splitlines()[-30:])
            raise JudgeError(f"pytest wrote no verdicts; its last lines:\n{tail}") from None
    verdicts = {v.task: v for v in map(Verdict.from_dict, data)}
    missing = [
        task.id for task in tasks if not verdicts.get(task.id, Verdict("", "", "", [])).results
    ]
    if missing:
        raise JudgeError(
            f"no grader ran for {', '.join(missing)}, so nothing was judged; pytest ended with\n"
            + "\n".join(done.stdout.splitlines()[-15:])
        )
    return [verdicts[task.id] for task in tasks]


def _arguments(tasks: list[Task], submission: Path, options: Options) -> list[str]:
    folders = [GRADERS, *([options.hidden.resolve()] if options.hidden else [])]
    files = sorted({GRADERS / f"test_{task.stem}.py" for task in tasks})
    chosen = [str(path) for path in (files if not options.hidden else folders)]
    arguments = [*chosen, "-q", "--no-header", "-p", "no:cacheprovider", "--timeout=0"]
    arguments += [part for task in tasks for part in ("--task", task.id)]
    arguments += ["--submission", str(submission), "--seconds", str(options.seconds)]
    if options.hidden:
        arguments += ["--hidden", str(options.hidden), "--rootdir", str(ROOT)]
    if options.sealed:
        arguments += ["--sealed"]
    if options.max_timeouts is not None:
        arguments += ["--max-timeouts", str(options.max_timeouts)]
    if options.seed is not None:
        arguments += ["--seed", str(options.seed)]
    return arguments
