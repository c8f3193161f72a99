"""pytest's side of judging: `pytest tests/exercises [--submission DIR] [--hidden DIR]`.

A grader is a test with a mark that says which task it judges and what it is worth,

    @pytest.mark.task("4.1", points=2)
    def test_a_free_slot_never_waits(student): ...

and one fixture, `student`: a worker with the task's file. This process imports no learner's code.
So what it reports can be trusted. pytest loads this by the entry point in pyproject.toml or from
tests/conftest.py, whichever comes first.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from minibatch.course.exercises.source import exercises_folder
from minibatch.course.judging.session import Judging
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import (
    ERROR,
    NO_SANDBOX,
    NOT_ATTEMPTED,
    PASSED,
    TIMED_OUT,
    WRONG,
    TestResult,
    Wrong,
    without_codes,
)
from minibatch.course.judging.worker_errors import (
    Died,
    NoSandbox,
    NotAttempted,
    Raised,
    TimedOut,
    WorkerError,
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
_RANDOM = pytest.StashKey[tuple[int, random.Random, object]]()  # seed, and how it began


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the command line."""
    group = parser.getgroup("exercises", "graded exercises")
    group.addoption(
        "--submission",
        type=Path,
        default=exercises_folder(),
        metavar="DIR",
        help="the folder whose exercise files are judged; default: exercises/",
    )
    group.addoption("--task", action="append", metavar="ID", help="judge only this task, e.g. 4.1")
    group.addoption("--hidden", type=Path, metavar="DIR", help="run a teacher's own graders, too")
    group.addoption(
        "--sandbox",
        action="store_true",
        default=None,
        help="judge only inside a sandbox; default: use one if this computer has it",
    )
    group.addoption(
        "--no-sandbox",
        action="store_false",
        dest="sandbox",
        help="judge without a sandbox: only for code of your own",
    )
    group.addoption(
        "--worker-folder", type=Path, metavar="DIR", help="where workers get their folders"
    )
    group.addoption("--seed", type=int, help="seed of the random cases; printed where one fails")
    group.addoption("--seconds", type=float, default=20.0, help="time for each task; default: 20")
    group.addoption(
        "--max-timeouts", type=int, metavar="N", help="stop judging after N tasks timed out"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the mark, and make the session's record."""
    config.addinivalue_line("markers", "task(id, points): a grader of an exercise, worth points")
    config.stash[_KEY] = Judging(config)


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Student:
    """A worker with the judged file of this test's task."""
    judging = request.config.stash[_KEY]
    marker = request.node.get_closest_marker("task")
    if marker is None:
        raise pytest.UsageError(f"{request.node.nodeid} uses `student` but has no mark `task`")
    most = request.config.getoption("max_timeouts")
    if most is not None and len(judging.timed_out) >= most:
        endless = ", ".join(judging.timed_out[:most])
        raise TimedOut(f"[not_judged] not judged: {most} earlier tasks never ended ({endless})")
    withheld = getattr(request.module, "WITHHELD", {}).get(marker.args[0], {})
    if _is_hidden(request.node) and marker.args[0] not in judging.hidden:
        judging.hidden.add(marker.args[0])
        judging.close()
    return judging.worker(marker.args[0], withheld)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Fresh random cases each run; `--seed` repeats a run's. A test's fixed cases come first: the
    seed is told only of a failure after the first draw."""
    seed = request.config.getoption("seed")
    if seed is None:
        seed = random.SystemRandom().randrange(10**6)
    numbers = random.Random(seed)
    request.node.stash[_RANDOM] = seed, numbers, numbers.getstate()
    return numbers


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep the tests of the tasks that were asked for, a teacher's own after all others."""
    wanted = config.getoption("task")
    if wanted:
        chosen = [item for item in items if _task_id(item) in wanted]
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = chosen
    if config.getoption("hidden") is not None:
        items.sort(key=_is_hidden)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say which tests there will be, so that the judge knows which ones did not come."""
    judging = session.config.stash[_KEY]
    for item in session.items:
        if _task_id(item) is not None:
            judging.announce(_task_id(item), _unjudged(item))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo) -> Iterator[None]:
    """Note how the test ended, and shorten what pytest prints of it."""
    outcome = yield
    task_id = _task_id(item)
    failed = call.excinfo is not None and call.when in ("setup", "call")
    if task_id is None or not (failed or call.when == "call"):
        return
    result = _result(item, call)
    item.config.stash[_KEY].note(task_id, result)
    if failed and not isinstance(call.excinfo.value, Wrong | WorkerError | AssertionError):
        return  # a fault of the grader's own: pytest's long report
    if failed:
        report = outcome.get_result()
        report.longrepr = f"Exercise {task_id}, {result.outcome}: {result.sentence}"


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """After the last of a task's own tests, what passed is put to use."""
    task_id = _task_id(item)
    now_yours = getattr(item.module, "NOW_YOURS", {}).get(task_id)
    is_last = nextitem is None or _task_id(nextitem) != task_id or _is_hidden(nextitem)
    if now_yours and is_last:
        item.config.stash[_KEY].send_measurement(task_id, now_yours)


def _unjudged(item: pytest.Item) -> TestResult:
    return TestResult(
        name=item.name,
        statement=item.name.partition("[")[0].removeprefix("test_").replace("_", " "),
        points=item.get_closest_marker("task").kwargs.get("points", 1),
        outcome=TIMED_OUT,
        hidden=_is_hidden(item),
    )


def _result(item: pytest.Item, call: pytest.CallInfo) -> TestResult:
    result = _unjudged(item)
    if call.excinfo is None:
        result.outcome = PASSED
        return result
    error = call.excinfo.value
    kinds = [kind for kind in _OUTCOMES if isinstance(error, kind)]
    result.outcome = _OUTCOMES[kinds[0]] if kinds else ERROR
    said = str(error) if kinds else f"[grader_failed] the grader itself failed: {error!r:.300}"
    if isinstance(error, NoSandbox):
        result.name, said = NO_SANDBOX, str(error)
    result.sentence, result.codes = without_codes(said)
    if isinstance(error, WorkerError):
        result.frames = error.frames
        result.codes += error.codes
    if isinstance(error, Wrong):
        result.expected, result.got = error.expected, error.got
        result.drawing = asdict(error.drawing) if error.drawing else None
    seed, numbers, begin = item.stash.get(_RANDOM, (None, None, None))
    if numbers is not None and numbers.getstate() != begin:
        result.sentence += f" (random case; --seed {seed} repeats it)"
    return result


def _task_id(item: pytest.Item) -> str | None:
    marker = item.get_closest_marker("task")
    return marker.args[0] if marker else None


def _is_hidden(item: pytest.Item) -> bool:
    folder = item.config.getoption("hidden")
    return folder is not None and item.path.is_relative_to(folder.resolve())


def pytest_sessionfinish(session: pytest.Session) -> None:
    """End the workers, and report what their code printed."""
    judging = session.config.stash.get(_KEY, None)
    if judging is not None:
        judging.end()
