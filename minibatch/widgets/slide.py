"""A figure under a slider: drawn anew as the slider moves."""

from __future__ import annotations

from collections.abc import Callable

import ipywidgets
from matplotlib.figure import Figure

from .still import WithStill


class Slide(WithStill):
    """What `draw` makes of a whole number from `low` to `high`, which the slider says.

    label: what the number is, with its unit. A saved notebook shows the figure of the number that
    was set last; it begins with `low`.
    """

    def __init__(self, draw: Callable[[int], Figure], label: str, low: int, high: int) -> None:
        self.draw = draw
        self.slider = ipywidgets.IntSlider(
            low,
            min=low,
            max=high,
            description=label,
            layout=ipywidgets.Layout(width="32em"),
            style={"description_width": "initial"},
        )
        self.slider.observe(lambda _: self._show(), "value")
        super().__init__([self.slider])
        self._show()

    def _show(self) -> None:
        self.view.value = self.draw(self.slider.value)._repr_html_()
