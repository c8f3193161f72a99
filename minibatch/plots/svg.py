"""A run as a small SVG, quick enough to be drawn again at every step; without matplotlib.

`strip` has a line for each slot and a bar for each span, on an axis of steps or of seconds. `waits`
has a line for each request, from its arrival to its last token. `grid` has a line for each request
and a cell, with a letter, for each step.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from ..core.completion import Completion
from ..core.records import StepRecord
from .colours import EMPTY, FADED, GUESS, INK, PAUSES, WAITS, WASTE, WORK, ink_on, own_colours
from .guesses import written
from .pages import pages
from .spans import Span, pauses, spans

PREFILL, DECODE, PADDING, WAITING, AWAY = "P", "d", "·", "w", " "
MEANINGS = {PREFILL: "prompt", DECODE: "decode", PADDING: "padding", WAITING: "waiting"}
LETTERS = {"prefill": PREFILL, "decode": DECODE, "padding": PADDING, "waiting": WAITING}
LETTERS["wasted"] = PADDING  # a row after a stop token: computed, and never used
FILLS = {PREFILL: WORK, DECODE: WORK, PADDING: WASTE, WAITING: WAITS, AWAY: EMPTY}

WIDTH = 700  # of a strip's panel, in pixels, to decide which letters fit; the page may be narrower
LETTER_WIDTH = 8  # at most, of a strip's letters
FLAG = 18  # percent of a panel that the words of a flag take at most
AXIS = 20  # height of the line below a strip's slots
CELL, LEFT, TOP, BOTTOM = 22, 70, 21, 17  # of a grid, in pixels
_PAGES = pages(__file__, ink=INK, guess=GUESS, faded=FADED, empty=EMPTY, waste=WASTE)
_numbers = itertools.count()  # an id must be unique in the whole page


@dataclass
class Bar:
    """left, width: in pixels for a grid, in percent of its panel for a strip. hatch: "prefill",
    "padding", "waiting" or none, over the fill. text: in the middle of the bar."""

    line: int
    left: float
    width: float
    fill: str
    text: str = ""
    ink: str = INK
    hatch: str = ""


@dataclass
class Panel:
    """top: the y of its first line. heads: (middle, text) of columns. frame: (left, width)."""

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
    *,
    unit: str = "steps",
    row_height: int = 18,
    highlight: Sequence[str] = (),
    flag: tuple[float, str] | None = None,
    guess: float | None = None,
) -> Markup:
    """Which request held which slot, from 0 to `end`, one line a slot; as wide as the page.

    edges: where a span begins and ends on the axis; by default, its steps. alt: the text for a
    reader who cannot see the picture. highlight: the one to three requests with their own colours.
    flag: a place on the axis and its label. guess: a prediction of such a place.
    """

    def at(place: float) -> float:
        return round(100 * place / max(end, 1e-9), 3)

    def hidden(place: float) -> bool:
        """Whether the words of the flag, on its left, cover this place."""
        return flag is not None and -2 <= at(flag[0]) - at(place) <= FLAG

    own = own_colours(highlight)
    found = list(spans(steps))
    found += pauses(steps, found[:])
    bars = [_bar(span, *map(at, edges(span)), own) for span in found]
    panel = Panel(0, bars, max_batch_size)
    return _draw(
        "strip.html",
        [panel],
        (100, max_batch_size * row_height + AXIS),
        row_height,
        alt,
        letter=LETTER_WIDTH,
        font_size=min(13, row_height - 4),
        ticks=[(at(place), f"{place:g}") for place in _round_places(end) if not hidden(place)],
        unit=unit,
        flag=flag and (at(flag[0]), flag[1]),
        said=None if guess is None else (at(guess), f"your guess: {written(guess)}"),
    )


def _bar(span: Span, left: float, right: float, own: dict[str, str]) -> Bar:
    """own: colours of the requests that are highlighted."""
    num_rows, room = span.end - span.start, (right - left) / 100 * WIDTH / LETTER_WIDTH
    texts = [span.request_id]
    colour = own.get(span.request_id, WORK)
    ink = ink_on(colour)
    if span.kind in ("padding", "wasted"):
        ink = INK  # its number has a white edge
        colour, texts = WASTE, [f"{num_rows:,} {span.kind}", f"{num_rows:,}"]
    elif span.kind == "waiting":
        colour, texts = PAUSES, []
    elif span.kind == "prefill":
        texts = []
    text = next((text for text in texts if len(text) + 1 <= room), "")
    hatch = {"decode": "", "wasted": "padding"}.get(span.kind, span.kind)
    return Bar(span.slot, left, round(right - left, 3), colour, text, ink, hatch)


def waits(completions: Iterable[Completion], end: float, alt: str, row_height: int = 18) -> Markup:
    """A line for each request that was served, in order of arrival, on an axis of seconds from 0 to
    `end`: it waits for its first row (dots), for its first token (stripes), and then generates."""
    served = sorted(
        (c for c in completions if c.was_served),
        key=lambda c: (c.arrival_time, c.first_scheduled_time),
    )
    bars = []
    for line, c in enumerate(served):
        places = c.arrival_time, c.first_scheduled_time, c.token_times[0], c.token_times[-1]
        parts = (WAITS, "waiting"), (WORK, "prefill"), (WORK, "")
        for (begin, close), (fill, hatch) in zip(itertools.pairwise(places), parts, strict=True):
            left, width = (round(100 * t / max(end, 1e-9), 3) for t in (begin, close - begin))
            words = f"{c.ttft:.2f} s to its first token" if hatch == "waiting" else ""
            room = width / 100 * WIDTH / LETTER_WIDTH
            bars.append(Bar(line, left, width, fill, words * (len(words) < room), INK, hatch))
    panel = Panel(0, bars, len(served), labels=[c.request_id for c in served])
    return _draw(
        "strip.html",
        [panel],
        (100, len(served) * row_height + AXIS),
        row_height,
        alt,
        letter=LETTER_WIDTH,
        font_size=min(13, row_height - 4),
        ticks=[(round(100 * t / end, 3), f"{t:g}") for t in _round_places(end)],
        unit="seconds",
        flag=None,
        said=None,
    )


def _round_places(end: float) -> list[float]:
    """About six places from 0 to `end`; their distance is 1, 2 or 5 times a power of ten."""
    rough = max(end, 1e-6) / 6
    power = 10 ** math.floor(math.log10(rough))
    apart = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    return [round(i * apart, 9) for i in range(int(end / apart + 1e-6) + 1)]


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
            Bar(line, LEFT + column * CELL, CELL - 2, FILLS[letter], letter, ink_on(FILLS[letter]))
            for line, letters in enumerate(lines)
            for column, letter in enumerate(letters)
        ]
        panel = Panel(len(panels) * height + TOP, bars, len(names), title, names)
        panel.heads = [(LEFT + CELL * i + CELL / 2 - 1, first + i) for i in range(num_steps)]
        panel.frame = LEFT + (marked - first) * CELL - 2, CELL + 2
        panels.append(panel)
    size = LEFT + CELL * num_steps + 10, height * len(panels)
    return _draw("grid.html", panels, size, CELL, alt)


def _draw(
    page: str,
    panels: list[Panel],
    size: tuple[int, int],
    row_height: int,
    alt: str,
    **more: object,
) -> Markup:
    names = {"panels": panels, "size": size, "row_height": row_height, "alt": alt, **more}
    return Markup(_PAGES.get_template(page).render(number=next(_numbers), **names))
