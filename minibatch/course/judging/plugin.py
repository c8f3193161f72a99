"""pytest's side of judging: `pytest tests/exercises [--submission DIR] [--hidden DIR]`.

A grader is a test with a mark that says which task it judges and what it is worth,

    @pytest.mark.task("4.1", points=2)
    def test_a_free_slot_never_waits(student): ...

and one fixture, `student`: the task's file on a desk. This process imports no learner's code, so
its report can be trusted. pytest loads this by the entry point in pyproject.toml or from
tests/conftest.py, whichever comes first.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from minibatch.course.exercises.source import Task, all_tasks, exercises_folder
from minibatch.course.judging.desk_errors import (
    DeskError,
    Died,
    Limits,
    NotAttempted,
    Raised,
    TimedOut,
)
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import (
    ERROR,
    NOT_ATTEMPTED,
    PASSED,
    TIMED_OUT,
    WRONG,
    TestResult,
    Verdict,
    Wrong,
)

_OUTCOMES = {
    NotAttempted: NOT_ATTEMPTED,
    TimedOut: TIMED_OUT,
    Raised: ERROR,
    Died: ERROR,
    Wrong: WRONG,
    AssertionError: WRONG,
}
_KEY = pytest.StashKey["Judging"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """What may be said on the command line."""
    group = parser.getgroup("exercises", "graded exercises")
    group.addoption(
        "--submission",
        type=Path,
        default=exercises_folder(),
        metavar="DIR",
        help="the folder whose exercise files are judged; default: exercises/",
    )
    group.addoption("--task", action="append", metavar="ID", help="judge only this task, e.g. 4.1")
    group.addoption("--hidden", type=Path, metavar="DIR", help="a teacher's own graders, as well")
    group.addoption("--sealed", action="store_true", help="shut the desks in (code of strangers)")
    group.addoption("--report", type=Path, metavar="FILE", help="write the verdicts there, as JSON")
    group.addoption("--seed", type=int, help="of the random cases; printed where one fails")
    group.addoption("--seconds", type=float, default=20.0, help="for each task; default: 20")
    group.addoption(
        "--max-timeouts", type=int, metavar="N", help="judge no further after N tasks timed out"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and the session's books."""
    config.addinivalue_line("markers", "task(id, points): a grader of an exercise, worth points")
    config.stash[_KEY] = Judging(config)


class Judging:
    """One session's desks and results."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.results: dict[str, list[TestResult]] = {}
        self.desks: dict[str, Student] = {}
        self.timed_out: list[str] = []
        self._tasks: dict[str, Task] | None = None
        self.printed: dict[str, str] = {}

    @property
    def tasks(self) -> dict[str, Task]:
        if self._tasks is None:
            self._tasks = all_tasks()
        return self._tasks

    def desk(self, task_id: str, withheld: dict[str, str]) -> Student:
        """The task's desk; the one of the task before is closed."""
        if task_id not in self.desks:
            self.close()
            self.desks[task_id] = Student(
                self.config.getoption("submission"),
                self.tasks[task_id],
                sealed=self.config.getoption("sealed"),
                limits=Limits(seconds=self.config.getoption("seconds")),
                withheld=withheld,
            )
        return self.desks[task_id]

    def close(self) -> None:
        for task_id, desk in self.desks.items():
            self.printed[task_id] = desk.printed
            desk.close()

    def verdicts(self) -> list[Verdict]:
        found = []
        for task_id, results in self.results.items():
            task = self.tasks[task_id]
            printed = self.printed.get(task_id, "")
            found.append(Verdict(task_id, task.title, task.stem, results, printed))
        return found


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    """The judged file of this test's task, on its desk."""
    judging = request.config.stash[_KEY]
    marker = request.node.get_closest_marker("task")
    if marker is None:
        raise pytest.UsageError(f"{request.node.nodeid} uses `student` but has no mark `task`")
    most = request.config.getoption("max_timeouts")
    if most is not None and len(judging.timed_out) >= most:
        endless = ", ".join(judging.timed_out[:most])
        raise TimedOut(f"not judged: {most} tasks before it never ended ({endless})")
    withheld = getattr(request.module, "WITHHELD", {}).get(marker.args[0], {})
    return judging.desk(marker.args[0], withheld)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Fresh random cases each run; `--seed` repeats a run's."""
    seed = request.config.getoption("seed")
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    request.node.user_properties.append(("seed", seed))
    return random.Random(seed)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tasks that were asked for."""
    wanted = config.getoption("task")
    if not wanted:
        return
    chosen = [item for item in items if _task_id(item) in wanted]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Note how the test ended, and shorten what pytest prints of it."""
    outcome = yield
    task_id = _task_id(item)
    failed = call.excinfo is not None and call.when in ("setup", "call")
    if task_id is None or not (failed or call.when == "call"):
        return
    judging = item.config.stash[_KEY]
    result = _result(item, call, task_id)
    if result.outcome == TIMED_OUT and task_id not in judging.timed_out:
        judging.timed_out.append(task_id)
    judging.results.setdefault(task_id, []).append(result)
    if failed and not isinstance(call.excinfo.value, Wrong | DeskError | AssertionError):
        return  # a fault of the grader's own: pytest's long report
    if failed:
        report = outcome.get_result()
        report.longrepr = f"Exercise {task_id}, {result.outcome}: {result.sentence}"


def _result(item: pytest.Item, call: pytest.CallInfo, task_id: str) -> TestResult:
    marker = item.get_closest_marker("task")
    hidden_folder = item.config.getoption("hidden")
    result = TestResult(
        name=item.name,
        statement=item.name.partition("[")[0].removeprefix("test_").replace("_", " "),
        points=marker.kwargs.get("points", 1),
        outcome=PASSED,
        hidden=hidden_folder is not None and item.path.is_relative_to(hidden_folder.resolve()),
    )
    if call.excinfo is None:
        return result
    error = call.excinfo.value
    kinds = [kind for kind in _OUTCOMES if isinstance(error, kind)]
    result.outcome = _OUTCOMES[kinds[0]] if kinds else ERROR
    result.sentence = str(error) if kinds else f"the grader itself failed: {error!r:.300}"
    if isinstance(error, DeskError):
        result.frames = error.frames
    if isinstance(error, Wrong):
        result.expected, result.got = error.expected, error.got
        result.drawing = asdict(error.drawing) if error.drawing else None
    for name, value in item.user_properties:
        if name == "seed":
            result.sentence += f" (random case; --seed {value} repeats it)"
    return result


def _task_id(item: pytest.Item) -> str | None:
    marker = item.get_closest_marker("task")
    return marker.args[0] if marker else None


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Close the desks, and write the report."""
    judging = session.config.stash.get(_KEY, None)
    if judging is None:
        return
    judging.close()
    path = session.config.getoption("report")
    if path is not None:
        data = [verdict.to_dict() for verdict in judging.verdicts()]
        path.write_text(json.dumps(data), encoding="utf-8")
