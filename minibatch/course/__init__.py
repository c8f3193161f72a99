"""What makes this a course rather than an engine: nothing in the engine imports it.

Exercises, and what looks after the lessons' pages:

    learner.py          what a learner calls: check, hint, solution, status, reset, your
    exercise_card.py    your_turn: an exercise in a notebook, with its buttons
    beside.py           the button that opens its file beside the page
    yours.py            with_yours: what is shown of a learner's code, anew once it passes
    commands.py         the same on the command line, and grading
    exercises/          exercises as files: one source, stubs, resets
    judging/            who judges and who is judged: two processes
    classroom/          many submissions at once, reports, Gradescope
    notebooks/          what looks after the lessons' pages
    changes/            a learner's edits, and the newest course: diff, restore, update
    setup/              from a fresh clone to a running lesson, in bare Python
"""

import importlib

_HOMES = dict.fromkeys(("check", "hint", "reset", "solution", "status", "your"), "learner")
_HOMES |= {"your_turn": "exercise_card", "with_yours": "learner_view"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"minibatch.course.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
