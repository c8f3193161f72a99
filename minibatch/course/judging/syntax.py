"""The verdict on a file that Python cannot parse: at once, before any process is started."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

from minibatch.course.exercises.source import Task
from minibatch.course.judging.verdict import ERROR, TestResult, Verdict

PLAIN = {  # what Python says, or the start of it, in other words
    "expected ':'": "a colon is missing at the end",
    "unexpected indent": "it is indented more than the line above, but that line opens no block",
    "unindent does not match": "the indentation matches none of the blocks above",
    "inconsistent use of tabs": "it begins with a mix of tabs and spaces; use spaces",
    "unterminated string": "a text begins here, but the closing quotation mark is missing",
}
UNSAID = "is a character missing, or one too many, at the mark or at the end of the line before?"


def unreadable(task: Task, path: Path) -> Verdict | None:
    """The verdict on a file with a syntax error, with its line; None if the file can be parsed.

    It has one result instead of all of the task's tests, and no points.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            ast.parse(path.read_text(encoding="utf-8"), path.name)
    except SyntaxError as error:
        line = error.lineno or 1
        result = TestResult(
            "syntax",
            "Python can read the file",
            task.points,
            ERROR,
            f"Python cannot read line {line}: {_in_plain_words(error.msg)}",
            frames=[{"line": line, "in": "", "code": _marked(error)}],
            codes=["file_is_unreadable"],
        )
        return Verdict(task.id, task.title, task.stem, [result])
    except (OSError, ValueError, RecursionError, MemoryError):
        pass  # no file, or a strange one: the worker will report it
    return None


def _in_plain_words(said: str) -> str:
    for start, plain in PLAIN.items():
        if said.startswith(start):
            return f"{plain}."
    said = said.removeprefix("invalid syntax").removeprefix(". ") or UNSAID  # Python's own guess
    return said[0].lower() + said[1:] + ("" if said.endswith("?") else ".")


def _marked(error: SyntaxError) -> str:
    """The line of code, with a mark below the column of the error."""
    text = (error.text or "").expandtabs(1).rstrip()
    code = text.lstrip()
    column = (error.offset or 1) - 1 - (len(text) - len(code))
    return f"{code}\n{' ' * max(0, min(column, len(code)))}^" if code else ""
