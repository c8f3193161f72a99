"""A Figure that a notebook shows as an image with alt text, on white in light and dark themes."""

from __future__ import annotations

import base64
import html
import io
import re
from collections.abc import Iterable

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK = "#222222"
FAINT = "#777777"
TITLE, LABEL, TICK = 15, 13, 12  # points, on a picture 11 inches wide
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
    num_axes: int, ax: Axes | list[Axes] | None, height: float = 2.6, beside: bool = False
) -> tuple[Figure, list[Axes]]:
    """New axes one below the other on one x axis, or the axes that were given, as a list.

    height: of one, in inches. beside: put them side by side instead, on one y axis. Raises
    ValueError if other than `num_axes` were given.
    """
    if ax is not None:
        axes = ax if isinstance(ax, list) else [ax]
        if len(axes) != num_axes:
            raise ValueError(f"{len(axes)} axes given; this picture has {num_axes} panels")
        return axes[0].figure, axes
    size = (11, 0.9 + height * (1 if beside else num_axes))
    figure = Picture(figsize=size, layout="constrained", facecolor="white")
    if beside:
        return figure, list(figure.subplots(1, num_axes, sharey=True, squeeze=False)[0])
    return figure, list(figure.subplots(num_axes, sharex=True, squeeze=False)[:, 0])


def dress(axis: Axes, finding: str, x: str = "", y: str = "") -> None:
    """The look that all pictures share. x, y: what is on the axes, with units."""
    axis.set_title(finding, loc="left", fontsize=TITLE, color=INK)
    axis.set_xlabel(x, fontsize=LABEL, color=INK)
    axis.set_ylabel(y, fontsize=LABEL, color=INK)
    axis.tick_params(labelsize=TICK, colors=INK)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def describe(figure: Figure, what: str, findings: Iterable[str]) -> None:
    """The alt text: what is drawn, then what it shows. A figure of someone else's keeps its own."""
    if isinstance(figure, Picture):
        figure.alt = " ".join([what, *(f"{finding}.".replace("\n", " ") for finding in findings)])


def colour_of(request_id: str) -> str:
    """A request keeps its colour through the whole course: by its letter, or else by its number."""
    if request_id[0] in "ABCDEFGH":
        return COLOURS["ABCDEFGH".index(request_id[0])]
    digits = re.findall(r"\d+", request_id)
    return COLOURS[int(digits[-1]) % len(COLOURS) if digits else sum(map(ord, request_id)) % 8]


def ink_on(colour: str) -> str:
    """Letters that can be read on one of COLOURS, with a contrast of 4.5 to 1 or more (WCAG 2)."""
    return "#FFFFFF" if colour == "#0072B2" else "#000000"
