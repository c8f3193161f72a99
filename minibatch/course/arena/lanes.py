"""The matches of a submission, shared between two workers.

The first worker plays match 1, 3, 5 …, the second one match 2, 4, 6 …, each in this order, whether
both play at the same time or one after the other. So a score depends neither on the computer's
processors nor on which worker is quicker, also if a policy keeps something from match to match.

Before changing this file: after an error the later matches count as not played, in both lanes. This
is decided by the order of the matches, not by the clock.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue

from minibatch.arena.match import Outcome
from minibatch.arena.traffic import Match
from minibatch.course.exercises.source import Task
from minibatch.course.judging.student import Student
from minibatch.course.judging.worker_errors import Limits

NUM_LANES = 2


@dataclass
class Lane:
    """One worker and its matches, by their places among all. most_cpu_s: of this worker."""

    student: Student
    matches: dict[int, Match]
    most_cpu_s: float
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    is_used_up: bool = False  # its worker has computed for longer than it may

    def note(self, place: int, outcome: Outcome, cpu_before: float) -> None:
        """Add an outcome, with what its worker has computed for it."""
        cpu = self.student.cpu_seconds()
        self.outcomes[place] = outcome.with_planning(max(0.0, cpu - cpu_before))
        self.is_used_up = cpu > self.most_cpu_s or "[processor_time_used_up]" in outcome.error


def lanes(
    path: Path, matches: list[Match], sandbox: bool | None, limits: Limits, most_cpu_s: float
) -> list[Lane]:
    """The lanes of a submission. Each has its part of the limits for all matches together."""
    task = Task(id="arena", title="The arena", stem=path.stem)
    made = []
    for first in range(min(NUM_LANES, len(matches))):
        own = dict(list(enumerate(matches))[first::NUM_LANES])
        share = len(own) / len(matches)
        most = most_cpu_s * share
        part = replace(
            limits,
            seconds=limits.seconds * share,
            answer_bytes=int(limits.answer_bytes * share),
            cpu_seconds=most + 1,  # it may not take the others' processors
        )
        made.append(Lane(Student(path.parent, task, sandbox=sandbox, limits=part), own, most))
    return made


def play_lanes(
    some: list[Lane],
    play: Callable[[Student, Match], Outcome],
    progress: Callable[[Match], object],
    at_once: int | None,
) -> None:
    """Play all matches. progress: called in this thread. at_once: lanes; None is one for each
    processor. Raises what `play` raises."""
    first_error = [float("inf")]
    is_over, played = threading.Event(), SimpleQueue()

    def run(lane: Lane) -> None:
        try:
            for place, match in lane.matches.items():
                if is_over.is_set() or place > first_error[0]:
                    break
                before = lane.student.cpu_seconds()
                outcome = play(lane.student, match)
                lane.note(place, outcome, before)
                if outcome.error:
                    first_error[0] = min(first_error[0], place)
                if lane.is_used_up:
                    is_over.set()
                played.put(match)
        except BaseException:
            is_over.set()
            raise
        finally:
            lane.student.close()
            played.put(None)

    with ThreadPoolExecutor(at_once or os.cpu_count() or 1) as pool:
        try:
            running = [pool.submit(run, lane) for lane in some]
            for _ in some:
                while (match := played.get()) is not None:
                    progress(match)
            for each in running:
                each.result()
        except BaseException:  # Ctrl-C, too: no lane goes on
            is_over.set()
            for lane in some:
                lane.student.interrupt()
            raise
