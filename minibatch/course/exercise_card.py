"""An exercise's card in a notebook: its text, and the buttons Check, Hint and Reset.

The buttons are ipywidgets' own, except the one that opens the file: Tab reaches them, Enter presses
them, and screen readers announce the answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import ipywidgets
from markupsafe import Markup, escape

from minibatch.course import learner
from minibatch.course.exercises.source import Task, exercises_folder, select
from minibatch.course.judging import verdict_card
from minibatch.course.judging.verdict import Verdict
from minibatch.course.open_button import open_beside
from minibatch.course.setup import ROOT
from minibatch.plots.pages import pages


def _with_code(text: str) -> Markup:
    """The text as HTML: `code` between backticks as code, and "Example:" in bold."""
    text = re.sub(r"^Example:", "<strong>Example:</strong>", str(escape(text)))
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", text))


PAGES = pages(__file__, with_code=_with_code)


class ExerciseCard(ipywidgets.VBox):
    """The card of one task. `answer` has the last button's answer, as HTML, above the last
    verdict."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.check_button = button("Check", "check", f"judge exercise {task.id} as it is saved now")
        self.hint_button = button("Hint", "lightbulb-o", f"the next hint for exercise {task.id}")
        self.reset_button = button("Reset", "undo", f"restore the stub of {task.id}; keeps a copy")
        self.answer = ipywidgets.HTML()
        self._sure, self._verdict = False, ""
        self.check_button.on_click(lambda _: self._press(self._check))
        self.hint_button.on_click(lambda _: self._press(self._hint))
        self.reset_button.on_click(lambda _: self._press(self._reset))
        path, name = _file(task)
        asked = PAGES.get_template("exercise.html").render(task=task, file=name)
        open_button = PAGES.get_template("open_button.html")
        opens = ipywidgets.HTML(open_button.render(file=name, attributes=open_beside(path)))
        buttons = [self.check_button, self.hint_button, self.reset_button, opens]
        row = ipywidgets.Layout(flex_flow="row wrap", align_items="center")
        super().__init__([ipywidgets.HTML(asked), ipywidgets.Box(buttons, layout=row), self.answer])
        self.add_class("minibatch-exercise")

    def _press(self, action: Callable[[], str]) -> None:
        """Run an action with the buttons disabled. An error is displayed, not raised."""
        buttons = (self.check_button, self.hint_button, self.reset_button)
        for each in buttons:
            each.disabled = True
        try:
            shown = action()
        except Exception as error:
            shown = Markup("<p>{}: {}</p>").format(type(error).__name__, error)
        finally:
            for each in buttons:
                each.disabled = False
        verdict = "" if action == self._check else self._verdict
        self.answer.value = f'<div role="status" aria-live="polite">{shown}</div>{verdict}'

    def _check(self) -> str:
        self._sure = False
        self.answer.value = '<div role="status">Checking …</div>'
        self._verdict = learner.check(self.task.id, tell=self._show_progress).html
        return self._verdict

    def _show_progress(self, so_far: Verdict) -> None:
        """Display an unfinished verdict each time one of its tests has ended."""
        self.answer.value = f'<div role="status">Checking …</div>{verdict_card.so_far(so_far)}'

    def _hint(self) -> str:
        self._sure = False
        return learner.hint(self.task.id).html

    def _reset(self) -> str:
        if not self._sure:
            self._sure = True
            return "<p>Press Reset again to restore the stub. A copy of your version is kept.</p>"
        self._sure, self._verdict = False, ""
        return learner.reset(self.task.id).html


def your_turn(name: str) -> ExerciseCard:
    """The card of one task, "4.1", with its buttons. Raises ValueError for several, or none."""
    tasks = select(name)
    if len(tasks) > 1:
        raise ValueError(f'name one exercise, such as "{tasks[0].id}", not "{name}"')
    return ExerciseCard(tasks[0])


def _file(task: Task) -> tuple[Path, str]:
    """The file to write in, and its name on the card; for a task that changes minibatch/, the first
    file that its text names."""
    if not task.changes_minibatch:
        return exercises_folder() / task.file_name, f"exercises/{task.file_name}"
    named = re.search(r"minibatch/[\w/]+\.py", task.text)
    return (ROOT / named[0], named[0]) if named else (ROOT / "minibatch", "minibatch/")


def button(name: str, icon: str, tooltip: str) -> ipywidgets.Button:
    """A button of a card: its text, an icon by its name in Font Awesome, and a longer text."""
    layout = ipywidgets.Layout(width="8em")
    return ipywidgets.Button(description=name, icon=icon, tooltip=tooltip, layout=layout)
