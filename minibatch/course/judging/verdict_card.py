"""A verdict as a learner sees it: a card, for the terminal and for the notebook.

Word, symbol and colour have the same meaning. The first problem is a sentence, with the expected
value beside the learner's; the learner's own lines of a traceback are folded below.
"""

from __future__ import annotations

import sys
import textwrap

from minibatch.course.exercises.source import all_tasks
from minibatch.course.judging.drawing import restored
from minibatch.course.judging.verdict import (
    BLOCKED,
    ERROR,
    NOT_ATTEMPTED,
    PASSED,
    SYMBOLS,
    TIMED_OUT,
    WRONG,
    TestResult,
    Verdict,
)
from minibatch.plots.pages import pages

_INKS = {PASSED: "32", WRONG: "31", NOT_ATTEMPTED: "90", ERROR: "35", TIMED_OUT: "33"}
_COLOURS = {  # background of the outcome's badge; black or white letters are readable on it
    PASSED: ("#00664B", "#FFF"),
    WRONG: ("#A33B00", "#FFF"),
    NOT_ATTEMPTED: ("#595959", "#FFF"),
    ERROR: ("#7A2E63", "#FFF"),
    TIMED_OUT: ("#E69F00", "#000"),
}
_PAGES = pages(__file__)


def headline(verdict: Verdict) -> str:
    """ "4.1 Who runs next: ✗ wrong, 4 of 6 points"."""
    return (
        f"{verdict.task} {verdict.title}: {SYMBOLS[verdict.outcome]} {verdict.outcome}, "
        f"{_points(verdict.points, verdict.max_points)}"
    )


def as_text(verdict: Verdict, colour: bool | None = None) -> str:
    """The card for a terminal. colour: None uses colours if standard output is a terminal."""
    colour = sys.stdout.isatty() if colour is None else colour
    line = headline(verdict)
    lines = [f"\033[1;{_INKS[verdict.outcome]}m{line}\033[0m" if colour else line]
    lines += _wrapped(verdict.yours)
    if verdict.outcome == NOT_ATTEMPTED:
        return "\n".join([*lines, f"   {_where_to_write(verdict)}"])
    for result in _shown(verdict):
        lines.append(f"   {SYMBOLS[result.outcome]} {result.statement} ({_came_to(result)})")
    problem = _told(verdict)
    if problem is not None:
        lines += ["", *_wrapped(problem.sentence)]
        if problem.expected is not None:
            lines += [f"   expected: {problem.expected}", f"   yours:    {problem.got}"]
        if problem.drawing:
            drawn = restored(problem.drawing).as_text()
            lines += ["", *(f"   {line}" for line in drawn.splitlines())]
        lines += [f"   {_frame(verdict, frame)}" for frame in problem.frames]
    if printed := verdict.printed.strip():
        lines += ["", "   Your code printed:"]
        lines += [f"   | {line}" for line in printed.splitlines()[:12]]
    return "\n".join(lines)


def as_html(verdict: Verdict) -> str:
    """The card for a notebook or a report."""
    ground, ink = _COLOURS[verdict.outcome]
    problem, shown = _told(verdict), _shown(verdict)
    return _PAGES.get_template("card.html").render(
        verdict=verdict,
        ground=ground,
        ink=ink,
        symbols=SYMBOLS,
        points=_points(verdict.points, verdict.max_points),
        where_to_write=_where_to_write(verdict) if verdict.outcome == NOT_ATTEMPTED else "",
        problem=problem,
        drawing=restored(problem.drawing) if problem and problem.drawing else None,
        frames=[_frame(verdict, frame) for frame in problem.frames] if problem else [],
        printed=verdict.printed.strip(),
        shown=shown,
        summary=_summary(shown),
        came_to=_came_to,
    )


def so_far(verdict: Verdict) -> str:
    """An unfinished verdict: the tests that have ended, as HTML."""
    return _PAGES.get_template("tests.html").render(
        shown=_shown(verdict), symbols=SYMBOLS, came_to=_came_to
    )


def _points(points: float, of: float | None = None) -> str:
    """ "1 point", "4 of 6 points"."""
    number = f"{points:g}" if of is None else f"{points:g} of {of:g}"
    return f"{number} point{'' if (of or points) == 1 else 's'}"


def _came_to(result: TestResult) -> str:
    """ "0.5 points", and the test that blocked it."""
    if result.outcome == BLOCKED:
        return f"{_points(result.points)}, blocked by “{result.blocked_by}”"
    return f"{_points(result.points)}, {result.outcome}"


def _summary(shown: list[TestResult]) -> str:
    """ "2 of 10 tests passed, 7 blocked by this one"."""
    passed, blocked = (sum(r.outcome == word for r in shown) for word in (PASSED, BLOCKED))
    first = next((r.statement for r in shown if r.outcome != PASSED), "")
    by_this = all(r.blocked_by == first for r in shown if r.outcome == BLOCKED)
    more = f", {blocked} blocked by {'this one' if by_this else 'another'}" if blocked else ""
    return f"{passed} of {len(shown)} tests passed{more}"


def _frame(verdict: Verdict, frame: dict) -> str:
    where = f"{verdict.stem}.py, line {frame['line']}, in {frame['in'] or 'the file'}"
    return f"{where}: {frame['code']}"


def _shown(verdict: Verdict) -> list[TestResult]:
    return [result for result in verdict.results if not result.hidden]


def _told(verdict: Verdict) -> TestResult | None:
    """The problem to show: of the first public test that failed; hidden tests stay hidden."""
    return next((result for result in _shown(verdict) if result.outcome != PASSED), None)


def _wrapped(sentence: str) -> list[str]:
    return [f"   {line}" for line in textwrap.wrap(sentence, 92)]


def _where_to_write(verdict: Verdict) -> str:
    task = all_tasks()[verdict.task]
    place = "minibatch, as the exercise says" if task.changes_minibatch else task.file_name
    told = _told(verdict)
    missing = f"What is missing: {told.statement}. " if told and verdict.points else ""
    return f"{missing}Write it in {place}, save, and check again."
