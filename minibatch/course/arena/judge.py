"""Plays the matches of a submission: its code runs in two workers, all that counts runs here.

Before changing this file: a submission may do anything in its workers. What ends its run is an
`Outcome` with an error, never an exception; only a fault of the judge is one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from minibatch.arena.divisions import DIVISIONS
from minibatch.arena.match import Outcome, run
from minibatch.arena.traffic import END, Match
from minibatch.course.arena.lanes import lanes, play_lanes
from minibatch.course.arena.remote import RemotePolicy, Stopped
from minibatch.course.judging.remote_router import RemoteRouter
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import without_codes
from minibatch.course.judging.worker_errors import Limits, WorkerError

# Processor seconds of the workers in a run of 27 matches; each has its part. The slowest baseline
# takes 7 s on two cores of 2.6 GHz; a policy may think ten times as long. Time is never scored.
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
    limits: Limits = LIMITS,
    most_cpu_s: float = MOST_CPU_S,
    at_once: int | None = None,
) -> list[Outcome]:
    """The outcome of each match with the submission `path`, a Python file.

    sandbox: True refuses to run without one (`NoSandbox`); None uses what this computer has.
    progress: called after each match. After an error the rest of the matches are not played: each
    of them has the same error. most_cpu_s: processor seconds of 27 matches. at_once: the workers
    that play at the same time (lanes.py); None is as many as there are processors.
    """
    matches, path = list(matches), Path(path)
    most = most_cpu_s * max(1.0, len(matches) / 27)
    some = lanes(path, matches, sandbox, limits, most)
    play_lanes(some, _play, progress, at_once)
    played = {place: outcome for lane in some for place, outcome in lane.outcomes.items()}
    for lane in some:
        if lane.is_used_up:
            text = f"its planning took more than {lane.most_cpu_s:.3g} s of processor time"
            text += f" in {len(lane.matches)} matches"
            played |= {i: Outcome(match, (), error=text) for i, match in enumerate(matches)}
    outcomes, error = [], ""
    for place, match in enumerate(matches):
        outcome = Outcome(match, (), error=error) if error else played[place]
        error, _ = without_codes(outcome.error)
        outcomes.append(replace(outcome, error=error))
    return outcomes


def _play(student: Student, match: Match) -> Outcome:
    rules = match.rules
    try:
        if match.division == "fleet":
            from minibatch.arena.fleet_match import play_router

            student.ask("arena_router")
            return play_router(match, _Router(student))
        sizes = rules.max_batch_size, rules.max_batch_tokens
        return run(match, RemotePolicy(student, sizes, END))
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
