"""A run as a small SVG, quick enough to be drawn anew at every step; without matplotlib.

A picture is made of panels, a panel of lines, a line of bars. `strip` has a line for each slot and
a bar for each span; `grid` a line for each request and a cell, with a letter, for each step.
"""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from ..core.records import StepRecord
from .colours import colour_of, ink_on
from .pages import pages
from .spans import Span, spans

PREFILL, DECODE, PADDING, WAITING, AWAY = "P", "d", "·", "w", " "
MEANINGS = {PREFILL: "prompt", DECODE: "decode", PADDING: "padding", WAITING: "waiting"}
LETTERS = {"prefill": PREFILL, "decode": DECODE, "padding": PADDING, "waiting": WAITING}
FILLS = {
    PREFILL: "#56B4E9",
    DECODE: "#A6DCC8",
    PADDING: "#D9D9D9",
    WAITING: "#FFF3C4",
    AWAY: "#FFF",
}

WIDTH = 1000  # of a strip, in the drawing's own units; it is stretched to the page
CELL, LEFT, TOP, BOTTOM = 22, 70, 21, 17  # of a grid, in pixels
_PAGES = pages(__file__)
_numbers = itertools.count()  # an id must be one of its kind in the whole page


@dataclass(slots=True)
class Bar:
    """hatch: "prefill", "padding" or none, over the fill. text: in its middle."""

    line: int
    left: float
    width: float
    fill: str
    text: str = ""
    ink: str = "#000"
    hatch: str = ""


@dataclass(slots=True)
class Panel:
    """top: where its first line begins. heads: (middle, text) of columns. frame: (left, width)."""

    top: int
    bars: list[Bar]
    num_lines: int
    title: str = ""
    labels: Sequence[str] = ()
    heads: list[tuple[float, int]] = field(default_factory=list)
    frame: tuple[float, float] | None = None


def strip(
    steps: Sequence[StepRecord],
    max_batch_size: int,
    end: float,
    alt: str,
    edges: Callable[[Span], tuple[float, float]] = lambda span: (span.start, span.end),
    row_height: int = 14,
) -> Markup:
    """Who held which slot, from 0 to `end`, one line a slot; as wide as the page.

    edges: where a span begins and ends on the same axis; as a rule, its steps. alt: what the
    picture says, for those who cannot see it.
    """
    scale = WIDTH / max(end, 1e-9)
    bars = []
    for span in spans(steps):
        left, right = (place * scale for place in edges(span))
        bars.append(_bar(span, left, right - left))
    panel = Panel(0, bars, max_batch_size)
    size = WIDTH, max_batch_size * row_height
    return _draw([panel], size, row_height, alt, is_strip=True)


def _bar(span: Span, left: float, width: float) -> Bar:
    colour = colour_of(span.request_id)
    bar = Bar(span.slot, round(left, 1), round(width, 1), colour, ink=ink_on(colour))
    if span.kind != "decode":
        bar.hatch = span.kind
    elif width >= 9 * len(span.request_id):
        bar.text = span.request_id
    if span.kind == "padding":
        bar.fill = "#fff"
    return bar


def grid(
    rows: dict[str, list[str]], names: Sequence[str], first: int, marked: int, alt: str
) -> Markup:
    """A panel for each of `rows`, by title: for each name, a string with a letter for each step.

    first: the number of the first step. marked: of the step with a frame around it.
    """
    panels = []
    height = TOP + CELL * len(names) + BOTTOM  # of one
    num_steps = len(next(iter(rows.values()))[0])
    for title, lines in rows.items():
        bars = [
            Bar(line, LEFT + column * CELL, CELL - 2, FILLS[letter], letter)
            for line, letters in enumerate(lines)
            for column, letter in enumerate(letters)
        ]
        panel = Panel(len(panels) * height + TOP, bars, len(names), title, names)
        panel.heads = [(LEFT + CELL * i + CELL / 2 - 1, first + i) for i in range(num_steps)]
        panel.frame = LEFT + (marked - first) * CELL - 2, CELL + 2
        panels.append(panel)
    size = LEFT + CELL * num_steps + 10, height * len(panels)
    return _draw(panels, size, CELL, alt, is_strip=False)


def _draw(
    panels: list[Panel], size: tuple[int, int], row_height: int, alt: str, is_strip: bool
) -> Markup:
    page = _PAGES.get_template("run.html")
    look = {"is_strip": is_strip, "row_height": row_height, "font_size": min(row_height - 3, 11)}
    return Markup(page.render(panels=panels, size=size, alt=alt, number=next(_numbers), **look))
