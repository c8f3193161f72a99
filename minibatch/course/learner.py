"""The functions that a learner calls in a notebook; their results also print in a terminal.

from minibatch.course import check, hint, solution, status, reset, your

check("4.1")      judge the file as it is saved now; check("ex04") judges all of its tasks
hint("4.1")       the next hint          solution("4.1")   once it has passed
status()          the whole course       reset("4.1")      the stub again; a copy is kept
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from minibatch.course.exercises import learner_file
from minibatch.course.exercises.progress import Progress
from minibatch.course.exercises.source import (
    PATCH,
    SOLUTIONS,
    Task,
    all_tasks,
    exercises_folder,
    select,
)
from minibatch.course.judging import verdict_card
from minibatch.course.judging.judge import JudgeError, Options, judge
from minibatch.course.judging.syntax import unreadable
from minibatch.course.judging.verdict import NOT_ATTEMPTED, PASSED, SYMBOLS, Verdict
from minibatch.plots.pages import pages

PAGES = pages(__file__)
TAKES_ITS_PLACE = "Below, it has taken the place of the one that stood in for it."


@dataclass(slots=True, repr=False)
class Shown:
    """A result to read: as text, and as HTML in a notebook."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


@dataclass(slots=True, repr=False)
class Check(Shown):
    """Verdicts, as cards. `points` of `max_points`; `passed`: whether every task passed."""

    verdicts: list[Verdict] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return all(verdict.passed for verdict in self.verdicts)

    @property
    def points(self) -> float:
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def max_points(self) -> float:
        return sum(verdict.max_points for verdict in self.verdicts)


def check(
    name: str | None = None,
    *,
    tell: Callable[[Verdict], None] = lambda verdict: None,
    stay_ready: bool = True,
) -> Check:
    """Judge your exercises: "4.1", "ex04", or None for all. Raises ValueError for another name.

    tell: called with a task's unfinished verdict each time one of its tests has ended. stay_ready:
    start a process that imports everything for the next check, which is then much faster.
    """
    tasks = select(name)
    found = {task.id: unreadable(task, exercises_folder() / task.file_name) for task in tasks}
    readable = [task for task in tasks if not found[task.id] or task.changes_minibatch]
    if readable:
        judged = judge(readable, options=Options(stay_ready=stay_ready), tell=tell)
        found |= {verdict.task: verdict for verdict in judged}
    progress, verdicts = Progress(), [found[task.id] for task in tasks]
    for task, verdict in zip(tasks, verdicts, strict=True):
        progress.note_verdict(task, verdict.outcome, verdict.points, verdict.max_points)
        if verdict.passed and learner_file.passed(task.id):
            verdict.yours = f"{verdict.yours} {TAKES_ITS_PLACE}".strip()
    return Check(
        "\n\n".join(verdict_card.as_text(verdict) for verdict in verdicts),
        "".join(verdict_card.as_html(verdict) for verdict in verdicts),
        verdicts,
    )


def hint(name: str, number: int | None = None) -> Shown:
    """The next hint of a task, after the earlier ones; or only the hint of that number."""
    (task,) = _single_task(name)
    progress = Progress()
    shown = [number]
    if number is None:
        number = min(progress[task.id].num_hints + 1, len(task.hints))
        shown = list(range(1, number + 1))
    if not 1 <= number <= len(task.hints):
        raise ValueError(f"exercise {task.id} has hints 1 to {len(task.hints)}, not {number}")
    progress.note_hint(task, number)
    title = f"Hint {number} of {len(task.hints)} for exercise {task.id}"
    return _text(title, "\n\n".join(task.hints[n - 1] for n in shown))


def solution(name: str, insist: bool = False, *, in_shell: bool = False) -> Shown:
    """The course's own answer: shown once yours has passed, or if you insist. in_shell: name what
    to do next as commands instead of calls."""
    (task,) = _single_task(name)
    progress = Progress()
    if not insist and progress[task.id].outcome != PASSED:
        left = len(task.hints) - progress[task.id].num_hints
        for_a_hint, to_insist = f"hint('{task.id}')", f"solution('{task.id}', insist=True)"
        if in_shell:
            for_a_hint = f"python -m minibatch hint {task.id}"
            to_insist = f"python -m minibatch solution {task.id} --insist"
        more = f"Hints left: {left}. The next one: {for_a_hint}\n" if left > 0 else ""
        return _text(
            f"Exercise {task.id} has not passed yet",
            f"{more}To read the solution all the same: {to_insist}",
        )
    title = f"Exercise {task.id}, one right answer of many"
    if task.changes_minibatch:
        return _text(title, _edits_of(task))
    return _text(title, task.solution)


def reset(name: str) -> Shown:
    """Put the stub back: in a task's marked place, or in all of "ex04". A dated copy is kept."""
    tasks = select(name)
    if len({task.stem for task in tasks}) > 1:
        raise ValueError(f'reset one file at a time, not "{name}"')
    kept = learner_file.reset(tasks, whole_file=name.strip() != tasks[0].id)
    if kept is None:
        return _text(f"{tasks[0].file_name} is the course's version", "Nothing to reset.")
    return _text(f"{tasks[0].file_name} is reset", f"Your version is in {kept}.")


def status() -> Shown:
    """All tasks in one table: which have passed, and which are open, by the last check of each; and
    the lines of the scoreboard."""
    from minibatch.course import scoreboard  # with the engine, which takes seconds

    tasks, progress = all_tasks(), Progress()
    rows = [_status_row(task, progress) for task in tasks.values()]
    earned = sum(progress[task_id].points for task_id in tasks)
    total = sum(task.points for task in tasks.values())
    passed = sum(progress[task_id].outcome == PASSED for task_id in tasks)
    foot = f"{passed} of {len(tasks)} passed, {earned:g} of {total} points"
    lessons: dict[str, list[tuple[str, ...]]] = {}
    for task, row in zip(tasks.values(), rows, strict=True):
        lessons.setdefault(_lesson_of(task), []).append(row)
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    parts = [
        "\n".join([name, *(_line(row, widths) for row in own)]) for name, own in lessons.items()
    ]
    board = scoreboard.as_text()
    page = PAGES.get_template("status.html").render(lessons=lessons, foot=foot, board=board)
    return Shown("\n\n".join(part for part in (*parts, board, foot) if part), page)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    *cells, state = row
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return "  ".join([*padded, state]).rstrip()


def _lesson_of(task: Task) -> str:
    """ "Lesson 05: paged KV blocks", from the first line of the exercise file."""
    with (SOLUTIONS / task.file_name).open(encoding="utf-8") as file:
        name = next(file).removeprefix('"""Exercises of ').rstrip(".\n")
    return name[0].upper() + name[1:]


def _status_row(task: Task, progress: Progress) -> tuple[str, ...]:
    entry = progress[task.id]
    outcome = entry.outcome or NOT_ATTEMPTED
    state = f"{SYMBOLS[outcome]} {outcome}" if entry.outcome else SYMBOLS[outcome]
    if entry.outcome and not progress.is_current(task):
        state += ", its file changed since"
    if entry.num_hints:
        state += f", {entry.num_hints} of {len(task.hints)} hints"
    dots = "●" * task.difficulty + "○" * (5 - task.difficulty)
    points = f"{entry.points:g} of {task.points}"
    return f"{task.id} {task.title}", points, f"{task.minutes} min", dots, state


def your(name: str, instead: Callable) -> Callable:
    """Your class or function from exercises/, as saved now; `instead` if it cannot be used yet."""
    return learner_file.your(name, instead)


def _edits_of(task: Task) -> str:
    """The task's part of the solutions' patch; git ignores the headings between."""
    text = (SOLUTIONS / PATCH).read_text(encoding="utf-8")
    parts = re.split(r"^(?=Exercise \d)", text, flags=re.MULTILINE)
    return next(part for part in parts if part.startswith(f"Exercise {task.id}:")).strip()


def _single_task(name: str) -> list[Task]:
    tasks = select(name)
    if len(tasks) > 1:
        raise ValueError(f'"{name}" has {len(tasks)} tasks; name one, like "{tasks[0].id}"')
    return tasks


def _text(title: str, body: str) -> Shown:
    page = PAGES.get_template("text.html").render(title=title, body=body)
    return Shown(f"{title}\n\n{body}", page)


__all__ = [
    "Check",
    "JudgeError",
    "check",
    "hint",
    "reset",
    "solution",
    "status",
    "your",
]
