"""A figure under a slider: drawn anew as the slider moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import ipywidgets

from .still import WithStill

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Slide(WithStill):
    """What `draw` makes of a whole number from `low` to `high`, which the slider says: a figure, or
    whatever else has `_repr_html_`.

    label: what the number is, with its unit. values: the only ones to choose from, if not all are.
    start: where it begins; default: at the lowest. A saved notebook shows the figure of the number
    that was set last.
    """

    def __init__(
        self,
        draw: Callable[[int], Figure],
        label: str,
        low: int = 0,
        high: int = 0,
        values: Sequence[int] = (),
        start: int | None = None,
    ) -> None:
        self.draw = draw
        first = next(iter(values), low) if start is None else start
        look = {"description": label, "layout": ipywidgets.Layout(width="32em"), "value": first}
        look["style"] = {"description_width": "initial"}
        if values:
            self.slider = ipywidgets.SelectionSlider(options=list(values), **look)
        else:
            self.slider = ipywidgets.IntSlider(min=low, max=high, **look)
        self.slider.observe(lambda _: self._show(), "value")
        super().__init__([self.slider])
        self._show()

    def _show(self) -> None:
        self.view.value = self.draw(self.slider.value)._repr_html_()
