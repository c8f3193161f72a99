"""A verdict as a learner sees it: a card, for the terminal and for the notebook.

Word, symbol and colour say the same. The first thing that went wrong is told in a sentence, with
what was expected beside what came; the learner's own lines of a traceback are folded below.
"""

from __future__ import annotations

import html
import sys

from minibatch.course.exercises.source import all_tasks
from minibatch.course.judging.drawing import LEGEND, Drawing
from minibatch.course.judging.verdict import (
    ERROR,
    NOT_ATTEMPTED,
    PASSED,
    SYMBOLS,
    TIMED_OUT,
    WRONG,
    TestResult,
    Verdict,
)

_INKS = {PASSED: "32", WRONG: "31", NOT_ATTEMPTED: "90", ERROR: "35", TIMED_OUT: "33"}
_COLOURS = {  # ground of the word's badge, always with black or white letters that can be read
    PASSED: ("#00664B", "#FFF"),
    WRONG: ("#A33B00", "#FFF"),
    NOT_ATTEMPTED: ("#595959", "#FFF"),
    ERROR: ("#7A2E63", "#FFF"),
    TIMED_OUT: ("#E69F00", "#000"),
}


def headline(verdict: Verdict) -> str:
    """ "4.1 Who runs next: ✗ wrong, 4 of 6 points". A pass is one of the public tests only."""
    told = "passed: all public tests" if verdict.passed else verdict.outcome
    return (
        f"{verdict.task} {verdict.title}: {SYMBOLS[verdict.outcome]} {told}, "
        f"{verdict.points:g} of {verdict.max_points:g} points"
    )


def as_text(verdict: Verdict, colour: bool | None = None) -> str:
    """The card for a terminal. colour: None asks whether standard output is one."""
    colour = sys.stdout.isatty() if colour is None else colour
    line = headline(verdict)
    lines = [f"\033[1;{_INKS[verdict.outcome]}m{line}\033[0m" if colour else line]
    if verdict.outcome == NOT_ATTEMPTED:
        return "\n".join([*lines, f"   {_where_to_write(verdict)}"])
    for result in _shown(verdict):
        lines.append(f"   {SYMBOLS[result.outcome]} {result.statement} ({result.points:g})")
    problem = _told(verdict)
    if problem is not None:
        lines += ["", *_wrapped(problem.sentence)]
        if problem.expected is not None:
            lines += [f"   expected: {problem.expected}", f"   yours:    {problem.got}"]
        if problem.drawing:
            drawn = Drawing(**problem.drawing).as_text()
            lines += ["", *(f"   {line}" for line in drawn.splitlines())]
        lines += [f"   {_frame(verdict, frame)}" for frame in problem.frames]
    if verdict.printed.strip() and not verdict.passed:
        lines += ["", "   Your code printed:"]
        lines += [f"   | {line}" for line in verdict.printed.strip().splitlines()[:12]]
    return "\n".join(lines)


def as_html(verdict: Verdict) -> str:
    """The card for a notebook or a report."""
    ground, ink = _COLOURS[verdict.outcome]
    word = "passed: all public tests" if verdict.passed else verdict.outcome
    badge = f"background:{ground};color:{ink};padding:1px 8px;border-radius:8px"
    parts = [
        f"<strong>{_safe(f'{verdict.task} {verdict.title}')}</strong> ",
        f'<span style="{badge}">{SYMBOLS[verdict.outcome]} {_safe(word)}</span> ',
        f"{verdict.points:g} of {verdict.max_points:g} points",
    ]
    if verdict.outcome == NOT_ATTEMPTED:
        parts.append(f"<p>{_safe(_where_to_write(verdict))}</p>")
    else:
        parts += _what_went_wrong(verdict)
        tests = "".join(
            f'<li style="list-style:none">{SYMBOLS[r.outcome]} {_safe(r.statement)} '
            f"<small>({r.points:g} points, {r.outcome})</small></li>"
            for r in _shown(verdict)
        )
        passed = sum(result.outcome == PASSED for result in _shown(verdict))
        title = f"{passed} of {len(_shown(verdict))} tests passed"
        parts.append(_folded(title, f'<ul style="margin:0;padding:0">{tests}</ul>'))
    frame = f"border:1px solid #888;border-left:8px solid {ground};border-radius:4px"
    return f'<div style="{frame};padding:8px 12px;max-width:52em">{"".join(parts)}</div>'


def _what_went_wrong(verdict: Verdict) -> list[str]:
    problem = _told(verdict)
    parts = []
    if problem is not None:
        parts.append(f"<p>{_safe(problem.sentence)}</p>")
        if problem.expected is not None:
            rows = (("expected", problem.expected), ("yours", str(problem.got)))
            left = 'style="text-align:left"'
            cells = "".join(
                f'<tr><th scope="row" {left}>{name}</th><td {left}><code>{_safe(value)}</code></td>'
                "</tr>"
                for name, value in rows
            )
            parts.append(f'<table style="margin:0">{cells}</table>')
        if problem.drawing:
            parts.append(f"{Drawing(**problem.drawing).as_svg()}<br><small>{LEGEND}</small>")
        if problem.frames:
            lines = "\n".join(_frame(verdict, frame) for frame in problem.frames)
            parts.append(_folded("Where in your file", f"<pre>{_safe(lines)}</pre>"))
    if verdict.printed.strip() and not verdict.passed:
        printed = verdict.printed.strip()[:2000]
        parts.append(_folded("What your code printed", f"<pre>{_safe(printed)}</pre>"))
    return parts


def _frame(verdict: Verdict, frame: dict) -> str:
    where = f"{verdict.stem}.py, line {frame['line']}, in {frame['in'] or 'the file'}"
    return f"{where}: {frame['code']}"


def _folded(title: str, content: str) -> str:
    return f"<details><summary>{title}</summary>{content}</details>"


def _safe(text: str) -> str:
    return html.escape(text)


def _shown(verdict: Verdict) -> list[TestResult]:
    return [result for result in verdict.results if not result.hidden]


def _told(verdict: Verdict) -> TestResult | None:
    """The problem to tell: the first of the public tests; a hidden one's sentence stays hidden."""
    return next((result for result in _shown(verdict) if result.outcome != PASSED), None)


def _wrapped(sentence: str) -> list[str]:
    import textwrap

    return [f"   {line}" for line in textwrap.wrap(sentence, 92)]


def _where_to_write(verdict: Verdict) -> str:
    task = all_tasks()[verdict.task]
    place = "minibatch, as the exercise says" if task.changes_minibatch else task.file_name
    return f"Write it in {place}, save, and check again."
