"""A Figure that a notebook shows as an image with alt text, on white in light and dark themes."""

from __future__ import annotations

import base64
import html
import io

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#222222"
# Okabe & Ito (2008), without black
COLOURS = (
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
    "#999999",
)
DARK = {"#009E73", "#0072B2", "#D55E00"}  # these carry white letters
RC = {"svg.fonttype": "path", "svg.hashsalt": "minibatch"}  # the same picture, the same bytes


class Picture(Figure):
    """alt: what a reader who cannot see the picture needs to know."""

    alt: str = ""

    def to_svg(self) -> str:
        """The picture as a file of its own; the same run gives the same bytes."""
        with rc_context(RC), io.StringIO() as file:
            self.savefig(file, format="svg", metadata={"Date": None})
            return file.getvalue()

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.to_svg().encode()).decode()
        return (
            f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(self.alt)}" '
            'style="width: 100%; max-width: 68rem">'
        )


def canvas(
    num_axes: int, ax: Axes | list[Axes] | None, height: float = 2.6
) -> tuple[Figure, list[Axes]]:
    """New axes one below the other on one x axis, or the axes that were given, as a list."""
    if ax is not None:
        axes = ax if isinstance(ax, list) else [ax]
        return axes[0].figure, axes
    figure = Picture(figsize=(11, 0.9 + height * num_axes), layout="constrained", facecolor="white")
    return figure, list(figure.subplots(num_axes, sharex=True, squeeze=False)[:, 0])


def dress(axis: Axes) -> None:
    """The look that all pictures share."""
    axis.tick_params(labelsize=10, colors=INK)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)
