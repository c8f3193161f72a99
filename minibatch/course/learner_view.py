"""Shows a learner's code at work in a lesson: a substitute's until the learner's can be used."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from traceback import extract_tb

from IPython.display import HTML, DisplayHandle, display

from minibatch.course.exercises import learner_file
from minibatch.course.exercises.progress import Progress
from minibatch.course.exercises.source import all_tasks, exercises_folder
from minibatch.course.judging.verdict import PASSED
from minibatch.course.learner import Shown
from minibatch.plots.pages import pages

_PAGES = pages(__file__)
_views: dict[str, View] = {}  # by content: a cell that runs again replaces its view


def with_yours(name: str, instead: Callable | None) -> Callable[[Callable], View]:
    """A decorator of a function that makes something to display, for example of a policy.

        @with_yours("MyContinuous", instead=mb.Continuous)
        def player(MyContinuous):
            return mb.widgets.EnginePlayer(mb.Engine(model, MyContinuous(4)), requests)

    It may return a tuple, with the same length for the learner's code and for `instead`; None
    displays nothing.

    It is called at once with the learner's `name`, or with `instead` if that cannot be used yet;
    None is for a function that then leaves the learner's part out.
    The result is displayed at the cell, under a sentence that says whose code it is, and whether
    it has passed. Each time a check of the task passes, the function is called again, and the new
    result replaces the old one.
    """
    return lambda make: View(name, instead, make)


class View:
    """What `make` returns for the learner's `name`. `again()` replaces it, in the same place."""

    def __init__(self, name: str, instead: Callable | None, make: Callable) -> None:
        self.name, self.instead, self.make = name, instead, make
        self.tasks = [t.id for t in all_tasks().values() if f" {name}(" in t.signature]
        self._places: list[DisplayHandle] = []
        self._show(*self._rendered())
        key = f"{name} {make.__name__}"
        if key not in _views:
            for task in self.tasks:
                learner_file.on_pass(task, lambda: _views[key].again())
        _views[key] = self

    def again(self) -> None:
        """Make and display it again. An error is displayed, not raised."""
        try:
            made = self._rendered()
        except Exception as error:
            made = f"{type(error).__name__}: {error}. Run this cell again to see where.", "", None
        self._show(*made)

    def _rendered(self) -> tuple[str, str, object]:
        """(a sentence that says whose code it is, what it printed, what to display)."""
        found, sentence = learner_file.yours_or(self.name, self.instead)
        if found is self.instead:
            return sentence, *self._rendered_with(found)
        if {Progress()[task].outcome for task in self.tasks} - {"", PASSED}:
            sentence += " It has not passed yet: press Check to see what is wrong."
        try:
            return sentence, *self._rendered_with(found)
        except Exception as error:
            lines = [f.lineno for f in extract_tb(error.__traceback__) if _is_learners(f.filename)]
            where = f", line {lines[-1]}" if lines else ""
            substitute = f"; {self.instead.__name__} is used instead." if self.instead else "."
            sentence = f"Your {self.name} does not work here yet{where}: "
            sentence += f"{type(error).__name__}: {error}{substitute}"
            return sentence, *self._rendered_with(self.instead)

    def _rendered_with(self, found: Callable | None) -> tuple[str, object]:
        with redirect_stdout(io.StringIO()) as printed:
            seen = self.make(found)
        return printed.getvalue(), seen

    def _show(self, sentence: str, printed: str, seen: object) -> None:
        page = _PAGES.get_template("learner_view.html").render(sentence=sentence, printed=printed)
        several = seen if isinstance(seen, tuple) else (seen,)
        shown = [Shown(f"{sentence}\n{printed}", page)]
        shown += [HTML("") if each is None else each for each in several]
        for place, what in zip(self._places, shown, strict=False):
            place.update(what)
        if not self._places:
            self._places = [display(what, display_id=True) for what in shown]


def _is_learners(file: str) -> bool:
    return Path(file).parent == exercises_folder()
