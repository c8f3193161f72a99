"""Plays the matches of a submission: its code runs in a worker, everything that counts runs here.

Before changing this file: a submission may do anything in its worker. What ends its run is an
`Outcome` with an error, never an exception; only a fault of the judge is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from minibatch.arena.divisions import DIVISIONS
from minibatch.arena.match import Outcome, run
from minibatch.arena.traffic import END, Match
from minibatch.course.arena.remote import RemotePolicy, Stopped
from minibatch.course.exercises.source import Task
from minibatch.course.judging.remote_router import RemoteRouter
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import without_codes
from minibatch.course.judging.worker_errors import Limits, WorkerError

# Processor seconds of the worker in a run of 27 matches. The slowest baseline takes 7 s on two
# cores of 2.6 GHz; a policy may think ten times as long. Time is reported, and never scored.
MOST_CPU_S = 70.0
# With shortest prompt, the longest answer has 725 bytes, and those of a class's 72 matches 14 MiB.
# To read much more would keep the judge's interpreter from the other submissions: the worst 64 MiB
# cost it 16 s, of which a waiting submission is charged a tenth.
LIMITS = Limits(seconds=240.0, memory_bytes=2 * 2**30, line_bytes=2**18, answer_bytes=2**26)
SHOWN = 300  # characters of an error


def play_file(
    path: Path,
    matches: Iterable[Match],
    *,
    sandbox: bool | None = None,
    progress: Callable[[Match], object] = lambda match: None,
    keep_trace: bool = False,
    limits: Limits = LIMITS,
    most_cpu_s: float = MOST_CPU_S,
) -> list[Outcome]:
    """The outcome of each match with the submission `path`, a Python file.

    sandbox: True refuses to run without one (`NoSandbox`); None uses what this computer has.
    progress: called after each match. After an error the rest of the matches are not played: each
    of them has the same error. most_cpu_s: processor seconds of 27 matches.
    """
    matches, path = list(matches), Path(path)
    task = Task(id="arena", title="The arena", stem=path.stem)
    most = most_cpu_s * max(1.0, len(matches) / 27)
    limits = replace(limits, cpu_seconds=most + 1)  # it may not take the others' processors
    student = Student(path.parent, task, sandbox=sandbox, limits=limits)
    outcomes, error = [], ""
    try:
        for match in matches:
            before = student.cpu_seconds()
            outcome = Outcome(match, (), error=error)
            if not error:
                outcome = _play(student, match, keep_trace)
            is_used_up = not error and "[processor_time_used_up]" in outcome.error
            if is_used_up or (not outcome.error and student.cpu_seconds() > most):
                text = f"its planning took more than {most:g} s of processor time"
                outcome = Outcome(match, (), error=text)
                outcomes = [Outcome(o.match, (), error=text) for o in outcomes]
            error, _ = without_codes(outcome.error)
            outcome = replace(outcome, error=error)
            outcomes.append(outcome.with_planning(max(0.0, student.cpu_seconds() - before)))
            progress(match)
    finally:
        student.close()
    return outcomes


def _play(student: Student, match: Match, keep_trace: bool) -> Outcome:
    rules = match.rules
    try:
        if match.division == "fleet":
            from minibatch.arena.fleet_match import play_router

            student.ask("arena_router")
            return play_router(match, _Router(student))
        sizes = rules.max_batch_size, rules.max_batch_tokens
        return run(match, RemotePolicy(student, sizes, END), trace=keep_trace)
    except WorkerError as failed:
        text = str(failed)
        where = failed.frames[-1] if failed.frames else None
        text += f" (line {where['line']}: {where['code']})" if where else ""
    except (Stopped, ValueError, RuntimeError, TypeError, MemoryError) as failed:
        text = str(failed)
    return Outcome(match, (), error=text[:SHOWN])


class _Router(RemoteRouter):
    """The submission's router. An answer that names no replica ends the match."""

    def __init__(self, student: Student) -> None:
        super().__init__(student, "choose", "arena_route")

    def __deepcopy__(self, memo: dict) -> _Router:
        return self  # a fleet copies its router; this one's state is in the worker

    def choose(self, request: object, views: object) -> int:
        answer = super().choose(request, views)
        if type(answer) is not int or answer not in {view.replica for view in views}:
            raise Stopped(f"choose returned {answer!s:.40}; return a replica's number")
        return answer


def division_of(path: Path) -> str:
    """The division that a file is for: "fleet" if it defines make_router, else "engine"."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return "fleet" if "def make_router" in text else next(iter(DIVISIONS))
