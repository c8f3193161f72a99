"""Controls to step along a run: back, step, play, a speed, a number, and a scrubber.

`ipywidgets.Play` counts in the browser and triggers the steps, so no cell blocks the notebook.
Every control is a native one: Tab reaches it, a screen reader names it, and arrow keys move the
scrubber.
"""

from __future__ import annotations

from abc import abstractmethod

import ipywidgets

from .still import WithStill

SPEEDS = {"slow": 800, "normal": 250, "fast": 60}  # milliseconds from one step to the next
FAR = 1_000_000  # steps; the limit of the controls while the end is not known
STEPS, SECONDS = "steps", "seconds"


class Stepping(WithStill):
    """Position 0 is before the first step. A subclass defines the newest position (`last`), whether
    the run `can_go_on`, and how to `reach` a position and `show` it.

    The scrubber has all known positions and one more, so that its right end, or the right arrow key
    there, runs a step.
    """

    def __init__(self, more: list[ipywidgets.Widget]) -> None:
        """more: controls of the subclass, to follow the common ones."""
        self.position, self._moving = 0, False
        self.back_button = _button("◀ Back", "one step back")
        self.step_button = _button("Step ▶", "one step forward")
        self.play_button = ipywidgets.ToggleButton(
            description="Play",
            icon="play",
            tooltip="step by itself, or stop",
            layout=ipywidgets.Layout(width="7em"),
        )
        self.play = ipywidgets.Play(min=0, max=FAR, interval=SPEEDS["normal"])
        self.play.layout.display = (
            "none"  # it only counts: its buttons have no names for a screen reader
        )
        self.speed = _menu("speed", SPEEDS, SPEEDS["normal"])
        self.axis = _menu("by", (STEPS, SECONDS), STEPS)
        self.go_to_box = ipywidgets.BoundedIntText(
            min=0,
            max=FAR,
            description="go to step",
            layout=ipywidgets.Layout(width="12em"),
            style={"description_width": "6.5em"},
        )
        self.scrubber = ipywidgets.IntSlider(
            min=0,
            max=1,
            readout=False,
            description="step",
            layout=ipywidgets.Layout(flex="1 1 20em", width="auto"),
            style={"description_width": "4em"},
        )
        self.scrubber.add_class("minibatch-growing")
        self.back_button.on_click(lambda _: self._jump(self.position - 1))
        self.step_button.on_click(lambda _: self._jump(self.position + 1))
        self.play.observe(lambda change: self.go_to(change["new"]), "value")
        self.go_to_box.observe(lambda change: self._jump(change["new"]), "value")
        self.scrubber.observe(lambda change: self._jump(change["new"]), "value")
        self.play_button.observe(self._name_play_button, "value")
        self.axis.observe(lambda _: self.turn_axis(), "value")
        ipywidgets.link((self.speed, "value"), (self.play, "interval"))
        ipywidgets.jslink((self.play_button, "value"), (self.play, "playing"))
        buttons = [self.back_button, self.step_button, self.play_button, self.play]
        super().__init__([*buttons, self.speed, self.go_to_box, self.axis, *more, self.scrubber])

    @property
    @abstractmethod
    def last(self) -> int:
        """The newest position."""

    @property
    @abstractmethod
    def can_go_on(self) -> bool:
        """Whether the run has more steps."""

    @property
    def in_seconds(self) -> bool:
        """Whether the axis is one of seconds."""
        return self.axis.value == SECONDS

    @abstractmethod
    def reach(self, position: int) -> int:
        """Run the missing steps; returns the position reached. `show` shows what stopped it."""

    @abstractmethod
    def show(self) -> None:
        """Draw `self.position`."""

    def turn_axis(self) -> None:
        """Redraw after a change of the axis."""
        self.go_to(self.position)

    def go_to(self, position: int) -> None:
        """Show the run after that many steps; runs those that are missing."""
        if self._moving:  # an event caused by our own change of the controls
            return
        self._moving = True
        try:
            reached = self.position = self.reach(position)
            self.show()
            self._set_controls(stopped=reached < position)
        finally:
            self._moving = False

    def _jump(self, position: int) -> None:
        """Go to that position and stop playing."""
        if not self._moving:
            self.play_button.value = False
            self.go_to(position)

    def _set_controls(self, stopped: bool) -> None:
        at_the_end = self.position == self.last and not self.can_go_on
        if at_the_end or stopped:
            self.play.playing = self.play_button.value = False
        self.play.max = self.go_to_box.max = FAR if self.can_go_on else self.last
        self.scrubber.max = max(1, self.last + self.can_go_on)
        self.play.value = self.go_to_box.value = self.scrubber.value = self.position
        self.back_button.disabled = self.position == 0
        self.step_button.disabled = at_the_end

    def _name_play_button(self, _change: object) -> None:
        """Label the button with its next action."""
        playing = self.play_button.value
        self.play_button.description = "Pause" if playing else "Play"
        self.play_button.icon = "pause" if playing else "play"


def _button(name: str, tooltip: str) -> ipywidgets.Button:
    layout = ipywidgets.Layout(width="7em")
    return ipywidgets.Button(description=name, tooltip=tooltip, layout=layout)


def _menu(name: str, options: object, value: object) -> ipywidgets.Dropdown:
    return ipywidgets.Dropdown(
        options=options,
        value=value,
        description=name,
        layout=ipywidgets.Layout(width="11em"),
        style={"description_width": "3.5em"},
    )
