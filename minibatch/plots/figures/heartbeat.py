"""How even the pace of an answer is: the time from each of its tokens to the next."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from ...engine.trace import Trace
from ..colours import COLOURS, HATCHES, INK, WORK, ink_on
from ..guesses import mark, said
from ..picture import SMALL, TICK, canvas, describe, dress
from .timeline import by_name

PROMPT = COLOURS[4]  # dark blue: no request of the lesson has it
LETTER, LINE = 0.013, 0.12  # width and height of a letter, as shares of a panel


def heartbeat(
    traces: Trace | Mapping[str, Trace],
    request_id: str,
    *,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """Milliseconds from each token of one answer to the next (inter-token latency, ITL), and which
    of those steps also computed another request's prompt.

    traces: a trace, or several by name, in each of which the request has finished. guess: the name
    of a prediction of the longest in the first of them, in ms. ax: where to draw, one Axes a trace.
    Raises ValueError if the request has not finished.
    """
    named = by_name(traces)
    figure, axes = canvas(len(named), ax, height=2.4)
    found = {name: _gaps(trace, request_id) for name, trace in named.items()}
    top = 1.35 * max(max(gaps) for gaps, _ in found.values())  # room for two lines of names
    findings = []
    for axis, (name, (gaps, newcomers)) in zip(axes, found.items(), strict=True):
        for disturbed, colour, hatch in ((False, WORK, ""), (True, PROMPT, "////")):
            places = [i for i, names in enumerate(newcomers, start=1) if bool(names) == disturbed]
            look = {"color": colour, "edgecolor": ink_on(colour), "linewidth": 0.3, "hatch": hatch}
            axis.bar(places, [gaps[i - 1] for i in places], width=1, **look)
        for words, x, y in _places(_prompts(newcomers), gaps, top):
            look = {"ha": "center", "va": "bottom", "fontsize": SMALL, "color": INK, "zorder": 6}
            on_white = [withStroke(linewidth=4, foreground="white")]  # over the line of the guess
            axis.annotate(words, (x, y), (0, 3), textcoords="offset points",
                          path_effects=on_white, **look)  # fmt: skip
        first, last = axis is axes[0], axis is axes[-1]
        findings.append(_finding(name, gaps) + (said(guess) if first else ""))
        x = f"token of {request_id}'s answer; bar: ms since the previous token" if last else ""
        dress(axis, findings[-1], x, "ms")
        axis.margins(x=0.01)
        axis.set_ylim(0, top)
    mark(axes[0], guess, along="y")
    kinds = [
        Patch(facecolor=WORK, edgecolor=INK, label="a step of single tokens"),
        Patch(facecolor=PROMPT, edgecolor=ink_on(PROMPT), hatch=HATCHES["prefill"],
              label="a step that also computes a prompt or a part of it; letter: its request"),
    ]  # fmt: skip
    figure.legend(handles=kinds, loc="outside lower center", ncols=2, frameon=False, fontsize=TICK)
    describe(figure, f"Bars: the time between two tokens of {request_id}.", findings)
    return figure


def _places(
    prompts: dict[tuple[int, int], list[str]], gaps: list[float], height: float
) -> list[tuple[str, float, float]]:
    """Words and their places: above their bars, and above the words that they would cover. height:
    of the axis, in ms."""
    placed: list[tuple[str, float, float]] = []
    for (begin, end), names in sorted(prompts.items()):
        words, x, y = " ".join(names), (begin + end) / 2, max(gaps[begin - 1 : end])
        for other, left, level in sorted(placed, key=lambda place: place[2]):
            wide = LETTER * len(gaps) * (len(words) + len(other) + 1) / 2
            if x - left < wide and abs(y - level) < 0.99 * LINE * height:
                y = level + LINE * height
        placed.append((words, x, y))
    return placed


def _prompts(newcomers: list[list[str]]) -> dict[tuple[int, int], list[str]]:
    """By first and last token whose step computed a part of them: the requests."""
    places: dict[str, list[int]] = {}
    for place, names in enumerate(newcomers, start=1):
        for name in names:
            places.setdefault(name, []).append(place)
    found: dict[tuple[int, int], list[str]] = {}
    for name, own in places.items():
        found.setdefault((own[0], own[-1]), []).append(name)
    return found


def _gaps(trace: Trace, request_id: str) -> tuple[list[float], list[list[str]]]:
    """For each token after the first: ms since the token before, and the requests whose prompts its
    step computed."""
    times = next((c.token_times for c in trace.completions if c.request_id == request_id), None)
    if times is None:
        raise ValueError(f"request {request_id!r} has not finished in this trace")
    newcomers = []
    for step in trace.steps:
        rows = step.rows
        if any(row.request_id == request_id and row.token_ids for row in rows):
            newcomers.append([row.request_id for row in rows if row.kind == "prefill"])
    gaps = [1e3 * (after - before) for before, after in zip(times, times[1:], strict=False)]
    return gaps, newcomers[1:]


def _finding(name: str, gaps: list[float]) -> str:
    words = f"the median gap is {median(gaps):.0f} ms, the longest is {max(gaps):.0f} ms"
    return f"{name}: {words}" if name else words[0].upper() + words[1:]
