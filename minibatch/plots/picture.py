"""A Figure that a notebook shows as an image with alt text.

The background is white. JupyterLab's dark theme inverts the lightness and keeps the hues."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Iterable
from functools import partial

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure, FigureBase, SubFigure
from matplotlib.legend import Legend
from matplotlib.ticker import ScalarFormatter

from .colours import DARK, INK

CLASS = "minibatch-figure"
STYLE = (
    f'<style>[data-jp-theme-light="false"] :is(.{CLASS}, .jp-MarkdownOutput img[src*="/images/"])'
    f" {{{DARK}}}</style>"
)
# Points on a picture 11 inches wide: about as many pixels in the column of a lesson's page, where
# the text beside it has 16 to 19. Nothing is smaller than SMALL.
TITLE, LABEL, TICK, SMALL = 17, 15, 14, 13
RC = {"svg.fonttype": "path", "svg.hashsalt": "minibatch"}  # the same picture, the same bytes


class Picture(Figure):
    """alt: the text for a reader who cannot see the picture."""

    alt: str = ""

    def to_svg(self) -> str:
        """The picture as an SVG file; the same run gives the same bytes."""
        with rc_context(RC), io.StringIO() as file:
            self.savefig(file, format="svg", metadata={"Date": None})
            return file.getvalue()

    def legend(self, *args: object, **look: object) -> Legend:
        """As matplotlib's, with as many of its `ncols` columns as there is room for."""
        return _legend(super().legend, self, *args, **look)

    def add_subfigure(self, *args: object, **look: object) -> SubFigure:
        part = super().add_subfigure(*args, **look)
        part.legend = partial(_legend, part.legend, part)
        return part

    def _repr_html_(self) -> str:
        data = base64.b64encode(self.to_svg().encode()).decode()
        return (
            f'<img src="data:image/svg+xml;base64,{data}" alt="{html.escape(self.alt)}" '
            f'class="{CLASS}" style="width: 100%; min-width: 36rem; max-width: 68rem">{STYLE}'
        )


def _legend(
    make: Callable[..., Legend], figure: FigureBase, *args: object, ncols: int = 1, **look: object
) -> Legend:
    while True:
        legend = make(*args, ncols=ncols, **look)
        if ncols == 1 or legend.get_window_extent().width <= figure.bbox.width:
            return legend
        legend.remove()
        ncols -= 1


def canvas(
    num_axes: int, ax: Axes | list[Axes] | None, height: float = 2.6, beside: bool = False
) -> tuple[Figure, list[Axes]]:
    """New axes, one below the other with a common x axis; or the given axes, as a list.

    height: of one, in inches. beside: put them side by side instead, with a common y axis. Raises
    ValueError if the number of given axes is not `num_axes`.
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


class Thousands(ScalarFormatter):
    """Numbers on an axis with a comma, as everywhere in the course: 12,500."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        return f"{x:,.0f}" if abs(x) >= 1000 else super().__call__(x, pos)


def dress(axis: Axes, finding: str, x: str = "", y: str = "") -> None:
    """Apply the common look. x, y: the labels of the axes, with units."""
    title = axis.set_title(finding, loc="left", fontsize=TITLE, color=INK, wrap=True)
    title._get_wrap_line_width = lambda: axis.bbox.width  # as wide as its panel, not the picture
    axis.set_xlabel(x, fontsize=LABEL, color=INK)
    axis.set_ylabel(y, fontsize=LABEL, color=INK)
    axis.tick_params(labelsize=TICK, colors=INK)
    for scale in (axis.xaxis, axis.yaxis):
        if type(scale.get_major_formatter()) is ScalarFormatter:
            scale.set_major_formatter(Thousands())
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def corner(axis: Axes, text: str, at_left: bool = True) -> None:
    """Small print in an upper corner: how far the numbers can be trusted."""
    axis.text(0.01 if at_left else 0.99, 0.95, text, transform=axis.transAxes, color=INK, va="top",
              ha="left" if at_left else "right", fontsize=SMALL, linespacing=1.35, zorder=7,
              bbox={"facecolor": "white", "edgecolor": "#BBBBBB"})  # fmt: skip


def describe(figure: Figure, what: str, findings: Iterable[str]) -> None:
    """Set the alt text: `what` is drawn, then the findings. Other matplotlib Figures have none."""
    if isinstance(figure, Picture):
        figure.alt = " ".join([what, *(f"{finding}.".replace("\n", " ") for finding in findings)])


def percent(share: float, digits: int = 0) -> str:
    """ "29 %", as the text of the lessons writes it, of a share of 0.29."""
    return f"{100 * share:.{digits}f} %"
