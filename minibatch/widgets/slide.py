"""A figure under a slider: drawn again as the slider moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import ipywidgets

from .still import WithStill

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Slide(WithStill):
    """Shows `draw(number)` for the slider's integer from `low` to `high`: a figure, or any object
    with `_repr_html_`.

    label: the name of the number, with its unit. values: the allowed numbers; default: all. start:
    the first number; default: the lowest. A saved notebook shows the figure of the last number.
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
