"""Runs pytest on a submission, in a separate process, and makes verdicts of its messages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.exercises.source import Task, exercises_folder
from minibatch.course.judging.graders import Graders, ready
from minibatch.course.judging.verdict import ERROR, NO_SANDBOX, TIMED_OUT, TestResult, Verdict
from minibatch.course.judging.worker_files import remove
from minibatch.course.setup import ROOT

GRADERS = ROOT / "tests" / "exercises"


class JudgeError(Exception):
    """The graders failed: a fault of the course, not of the submission."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to judge.

    sandbox: True requires one for the learner's code; None uses what this computer has; False
    uses none. seconds: for each task; max_timeouts: after so many timeouts,
    other tasks are not judged. stay_ready: keep a process ready for this process's next check.
    """

    hidden: Path | None = None
    sandbox: bool | None = None
    seconds: float = 20.0
    max_timeouts: int | None = None
    seed: int | None = None
    stay_ready: bool = False


def judge(
    tasks: Iterable[Task],
    submission: Path | None = None,
    options: Options | None = None,
    tell: Callable[[Verdict], None] = lambda verdict: None,
) -> list[Verdict]:
    """A verdict for each of the tasks, in their order. Raises JudgeError if one had no grader.

    submission: a folder with files named as in exercises/; None is the learner's own. For every
    submission this ends: after `seconds` for each task, and some for the judge itself.
    tell: called with a task's unfinished verdict each time one of its tests has ended.
    """
    tasks, options = list(tasks), options or Options()
    submission = (submission or exercises_folder()).resolve()
    verdicts = {task.id: Verdict(task.id, task.title, task.stem, []) for task in tasks}
    due: dict[str, list[TestResult]] = {task.id: [] for task in tasks}

    def receive(message: dict) -> None:
        verdict = verdicts[message["task"]]
        verdict.printed = message.get("printed", verdict.printed)
        verdict.yours = message.get("yours", verdict.yours)
        if "due" in message:
            due[message["task"]].append(TestResult(**message["due"]))
        if "result" in message:
            verdict.results.append(TestResult(**message["result"]))
            tell(verdict)

    room = Path(tempfile.mkdtemp(prefix="minibatch-judge-"))
    try:  # what graders leave that were ended is removed with it
        arguments = _arguments(tasks, submission, options)
        arguments += ["--basetemp", str(room / "tmp"), "--worker-folder", str(room)]
        seconds = 60 + len(tasks) * (options.seconds + 20)
        graders = ready() if options.stay_ready else Graders()
        output, is_late = graders.run(arguments, seconds, receive)
    finally:
        remove(room)
    refused = [r for verdict in verdicts.values() for r in verdict.results if r.name == NO_SANDBOX]
    if refused:
        raise JudgeError(refused[0].sentence)
    missing = [task_id for task_id, verdict in verdicts.items() if not verdict.results]
    if missing and is_late:
        raise JudgeError(f"judging took too long and was stopped before {', '.join(missing)}")
    if missing:
        these = ", ".join(missing)
        raise JudgeError(
            f"no grader ran for {these}; the last lines that judging printed:\n{output}"
        )
    for task_id, verdict in verdicts.items():
        verdict.results += _not_judged(due[task_id], verdict.results, is_late)
    return list(verdicts.values())


def _not_judged(
    due: list[TestResult], results: list[TestResult], is_late: bool
) -> list[TestResult]:
    """The tests that were to come and have no result: they earn nothing, and say why."""
    done = {(result.name, result.hidden) for result in results}
    missing = [result for result in due if (result.name, result.hidden) not in done]
    for result in missing:
        result.outcome = TIMED_OUT if is_late else ERROR
        result.codes = ["judging_ended_early"]
        result.sentence = (
            f"“{result.statement}” was not judged: "
            + ("the time for judging was over" if is_late else "the judge was stopped")
            + " before its turn. Check again."
        )
    return missing


def _arguments(tasks: list[Task], submission: Path, options: Options) -> list[str]:
    folders = [GRADERS, *([options.hidden.resolve()] if options.hidden else [])]
    files = sorted({GRADERS / f"test_{task.stem}.py" for task in tasks})
    chosen = [str(path) for path in (files if not options.hidden else folders)]
    arguments = [*chosen, "-q", "--no-header", "-p", "minibatch.course.judging.plugin"]
    arguments += ["-p", "no:cacheprovider", "-p", "no:unraisableexception"]
    arguments += [part for task in tasks for part in ("--task", task.id)]
    arguments += ["--submission", str(submission), "--seconds", str(options.seconds)]
    if options.hidden:
        arguments += ["--hidden", str(options.hidden), "--rootdir", str(ROOT)]
    if options.sandbox is not None:
        arguments += ["--sandbox" if options.sandbox else "--no-sandbox"]
    if options.max_timeouts is not None:
        arguments += ["--max-timeouts", str(options.max_timeouts)]
    if options.seed is not None:
        arguments += ["--seed", str(options.seed)]
    return arguments
