"""What a lesson shows of a learner's code: a stand-in's at first, theirs as soon as it passes."""

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
_views: dict[str, View] = {}  # by what they show: a cell that runs again takes its view's place


def with_yours(name: str, instead: Callable) -> Callable[[Callable], View]:
    """A decorator of a function that makes something to look at, of a policy, say.

        @with_yours("MyContinuous", instead=mb.Continuous)
        def player(MyContinuous):
            return mb.widgets.EnginePlayer(mb.Engine(model, MyContinuous(4)), requests)

    It may make several things, a tuple, as many of yours as of `instead`; None is nothing.

    It is called at once with the learner's `name`, or with `instead` as long as that cannot be
    used, and shown where the cell is, under a sentence that says whose it is, and whether it has
    passed. Whenever a check of the learner's passes, it is called again, and what is shown becomes
    theirs.
    """
    return lambda make: View(name, instead, make)


class View:
    """What `make` shows of the learner's `name`. `again()` makes it anew, in the same place."""

    def __init__(self, name: str, instead: Callable, make: Callable) -> None:
        self.name, self.instead, self.make = name, instead, make
        self.tasks = [t.id for t in all_tasks().values() if f" {name}(" in t.signature]
        self._places: list[DisplayHandle] = []
        self._show(*self._made())
        key = f"{name} {make.__name__}"
        if key not in _views:
            for task in self.tasks:
                learner_file.on_pass(task, lambda: _views[key].again())
        _views[key] = self

    def again(self) -> None:
        """Make it anew; what goes wrong is shown, nothing is raised."""
        try:
            made = self._made()
        except Exception as error:
            made = f"{type(error).__name__}: {error}. Run this cell again to see where.", "", None
        self._show(*made)

    def _made(self) -> tuple[str, str, object]:
        """A sentence that says whose it is, what making it printed, and what there is to see."""
        found, said = learner_file.yours_or(self.name, self.instead)
        if found is self.instead:
            return said, *self._made_of(found)
        if {Progress()[task].outcome for task in self.tasks} - {"", PASSED}:
            said += " It has not passed yet: press Check to hear what is amiss."
        try:
            return said, *self._made_of(found)
        except Exception as error:
            lines = [f.lineno for f in extract_tb(error.__traceback__) if _is_theirs(f.filename)]
            where = f", line {lines[-1]}" if lines else ""
            said = f"Yours ({self.name}{where}) does not work here yet: {type(error).__name__}: "
            said += f"{error}; this is {self.instead.__name__} instead."
            return said, *self._made_of(self.instead)

    def _made_of(self, found: Callable) -> tuple[str, object]:
        with redirect_stdout(io.StringIO()) as printed:
            seen = self.make(found)
        return printed.getvalue(), seen

    def _show(self, said: str, printed: str, seen: object) -> None:
        page = _PAGES.get_template("yours.html").render(said=said, printed=printed)
        several = seen if isinstance(seen, tuple) else (seen,)
        shown = [Shown(f"{said}\n{printed}", page)]
        shown += [HTML("") if each is None else each for each in several]
        for place, what in zip(self._places, shown, strict=False):
            place.update(what)
        if not self._places:
            self._places = [display(what, display_id=True) for what in shown]


def _is_theirs(file: str) -> bool:
    return Path(file).parent == exercises_folder()
