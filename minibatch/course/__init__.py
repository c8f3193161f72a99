"""Everything about the course: exercises, grading, set-up. The engine does not import it.

learner.py          what a learner calls: check, hint, solution, status, reset, your
exercise_card.py    your_turn: an exercise in a notebook, with its buttons
open_button.py      the button that opens the exercise's file beside the page
learner_view.py     with_yours: shows the learner's code at work, and again when it passes
scoreboard.py       the fifty agents of Part I under each lesson's policy, by a button
certificate.py      what a learner has built, as a page to print
commands.py         the same on the command line, and grading
exercises/          exercises as files: one source, stubs, resets
arena/              the arena's judge: policies on public and hidden matches, a class, its board
judging/            grades exercises: the judge and the learner's code are two processes
classroom/          many submissions at once, reports, Gradescope
notebooks/          checks the lessons' notebooks, links and sources
changes/            a learner's edits, and the newest course: diff, restore, update
setup/              from a fresh clone to a running lesson, in bare Python
site/               the lessons as web pages
"""

import importlib

_HOMES = dict.fromkeys(("check", "hint", "reset", "solution", "status", "your"), "learner")
_HOMES |= {"your_turn": "exercise_card", "with_yours": "learner_view", "arena_card": "arena.card"}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"minibatch.course.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
