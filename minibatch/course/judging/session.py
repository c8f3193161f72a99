"""One run of pytest over the graders: a worker for each task, and the results of its tests."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, replace

import pytest

from minibatch.course.exercises.source import Task, all_tasks
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import (
    BLOCKED,
    NOT_ATTEMPTED,
    PASSED,
    TIMED_OUT,
    TestResult,
)
from minibatch.course.judging.worker_errors import Limits


class Judging:
    """One run's workers and results. config: pytest's; its `send_to_judge` sends messages to the
    judge."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.workers: dict[str, Student] = {}
        self.timed_out: list[str] = []
        self.hidden: set[str] = set()  # tasks with a hidden test that has begun
        self._tasks: dict[str, Task] | None = None
        self._printed: dict[str, str] = {}  # before the first hidden test
        self._results: dict[str, list[TestResult]] = {}
        self._send = getattr(config, "send_to_judge", lambda **message: None)

    @property
    def tasks(self) -> dict[str, Task]:
        if self._tasks is None:
            self._tasks = all_tasks()
        return self._tasks

    def worker(self, task_id: str, withheld: dict[str, str]) -> Student:
        """The task's worker; the one before is closed. A hidden test gets a new worker, whose
        output is not reported."""
        if task_id not in self.workers:
            self.close()
            self.workers[task_id] = Student(
                self.config.getoption("submission"),
                self.tasks[task_id],
                sandbox=self.config.getoption("sandbox"),
                limits=Limits(seconds=self.config.getoption("seconds")),
                withheld=withheld,
                work_in=self.config.getoption("worker_folder"),
            )
        return self.workers[task_id]

    def close(self) -> None:
        for task_id, worker in self.workers.items():
            worker.close()
            self._printed.setdefault(task_id, worker.printed)

    def announce(self, task_id: str, unjudged: TestResult) -> None:
        """Tell the judge of a test that will come."""
        self._send(task=task_id, due=asdict(unjudged))

    def note(self, task_id: str, result: TestResult) -> None:
        """Send a result to the judge at once."""
        if result.outcome == TIMED_OUT and task_id not in self.timed_out:
            self.timed_out.append(task_id)
        before = self._results.setdefault(task_id, [])
        same = [r for r in before if r.outcome != PASSED and r.cause == result.cause]
        before.append(result)
        if same and result.outcome != NOT_ATTEMPTED:
            result = replace(result, outcome=BLOCKED, blocked_by=same[0].statement)
        self._send(task=task_id, result=asdict(result))

    def send_measurement(self, task_id: str, now_yours: Callable[[Student], str]) -> None:
        """If all of a task's tests have passed, send what their code can do now, in a sentence."""
        results = self._results.get(task_id, [])
        if not results or any(result.outcome != PASSED for result in results):
            return
        with contextlib.suppress(Exception):  # an error here does not change that it has passed
            self._send(task=task_id, yours=now_yours(self.workers[task_id]))

    def end(self) -> None:
        self.close()
        for task_id, printed in self._printed.items():
            self._send(task=task_id, printed=printed)
