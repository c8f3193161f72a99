"""An exercise's card in a notebook: what it asks, and buttons to check, to get a hint, to reset.

Buttons are ipywidgets' own: Tab reaches them, Enter presses them, and what they bring is announced.
"""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets
from markupsafe import Markup

from minibatch.course import learner
from minibatch.course.exercises.source import Task, select


class ExerciseCard(ipywidgets.VBox):
    """Of one task. `answer` holds what the last button brought, as HTML, above the last verdict."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.check_button = _button(
            "Check", "check", f"judge exercise {task.id} as it is saved now"
        )
        self.hint_button = _button("Hint", "lightbulb-o", f"the next hint for exercise {task.id}")
        self.reset_button = _button(
            "Reset", "undo", f"put the stub of {task.id} back; keeps a copy"
        )
        self.answer = ipywidgets.HTML()
        self._sure, self._verdict = False, ""
        self.check_button.on_click(lambda _: self._press(self._check))
        self.hint_button.on_click(lambda _: self._press(self._hint))
        self.reset_button.on_click(lambda _: self._press(self._reset))
        buttons = ipywidgets.HBox([self.check_button, self.hint_button, self.reset_button])
        asked = ipywidgets.HTML(learner.PAGES.get_template("exercise.html").render(task=task))
        super().__init__([asked, buttons, self.answer])

    def _press(self, action: Callable[[], str]) -> None:
        """Run an action with the buttons off; whatever goes wrong is shown, nothing is raised."""
        buttons = (self.check_button, self.hint_button, self.reset_button)
        for button in buttons:
            button.disabled = True
        try:
            shown = action()
        except Exception as error:
            shown = Markup("<p>{}: {}</p>").format(type(error).__name__, error)
        finally:
            for button in buttons:
                button.disabled = False
        verdict = "" if action == self._check else self._verdict
        self.answer.value = f'<div role="status" aria-live="polite">{shown}</div>{verdict}'

    def _check(self) -> str:
        self._sure = False
        self.answer.value = '<div role="status">Checking …</div>'
        self._verdict = learner.check(self.task.id).html
        return self._verdict

    def _hint(self) -> str:
        self._sure = False
        return learner.hint(self.task.id).html

    def _reset(self) -> str:
        if not self._sure:
            self._sure = True
            return "<p>Press Reset once more to put the stub back. A copy of yours is kept.</p>"
        self._sure, self._verdict = False, ""
        return learner.reset(self.task.id).html


def your_turn(name: str) -> ExerciseCard:
    """The card of one task, "4.1", with its buttons. Raises ValueError for several, or none."""
    tasks = select(name)
    if len(tasks) > 1:
        raise ValueError(f'one at a time: "{tasks[0].id}", not "{name}"')
    return ExerciseCard(tasks[0])


def _button(name: str, icon: str, tooltip: str) -> ipywidgets.Button:
    layout = ipywidgets.Layout(width="8em")
    return ipywidgets.Button(description=name, icon=icon, tooltip=tooltip, layout=layout)
