"""Throughput and the wait for the first token over the load, for several policies and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, INK, LIMIT
from ..guesses import mark
from ..picture import LABEL, TICK, canvas, describe, dress

Seeds = Mapping[str, Sequence[float]]  # "output_tokens_per_s" and "ttft_p99_s", a value a seed
LINES = (
    (COLOURS[7], "s", "-"),
    (COLOURS[5], "^", "-"),
    (COLOURS[4], "o", "-"),
    (COLOURS[2], "D", (0, (3, 2))),
    (COLOURS[6], "v", "-"),
)
APART = 0.115  # of a panel's height: two labels at the right end


def knee(
    runs: Mapping[str, Mapping[float, Seeds]],
    *,
    limit_s: float | None = None,
    x: str = "requests a second",
    error: str = "",
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Two panels, one below the other: output tokens a second, and p99 time to first token on a
    logarithmic axis. A line is the median over seeds, its band the 10th to the 90th percentile.
    A ring marks the lowest load whose throughput is within 5 % of the highest: the knee is at this
    load or between it and the load before. A dot on the limit marks the load at which a line leaves
    it.

    runs: by policy and load. limit_s: a limit on the time to first token. error: the held-out
    error of the cost model, written below the panels. guess: the name of a predicted load. ax: two
    Axes.
    """
    figure, axes = canvas(2, ax, height=3.1 if error else 2.8)
    most, knees, kept = {}, {}, {}
    ends: tuple[list, list] = [], []
    for (name, by_load), look in zip(runs.items(), LINES, strict=False):
        loads = sorted(by_load)
        tokens = _draw(axes[0], by_load, "output_tokens_per_s", look)
        waits = _draw(axes[1], by_load, "ttft_p99_s", look)
        most[name], knees[name] = max(tokens), _end_of_rise(loads, tokens)
        at = knees[name], tokens[loads.index(knees[name])]
        axes[0].plot(*at, "o", markersize=15, fillstyle="none", color=INK)
        words = f"{name}: {most[name]:,.0f}, knee ≤ {knees[name]:g}"
        ends[0].append((tokens[-1], words, look[0]))
        words = name
        if limit_s is not None:
            kept[name] = _crossing(loads, waits, limit_s) if waits[0] <= limit_s else 0.0
            words = f"{name}: {f'up to {kept[name]:.2g}' if kept[name] else 'never'}"
            if kept[name]:
                axes[1].plot(kept[name], limit_s, "o", markersize=10, color=look[0],
                             markeredgecolor=INK, markeredgewidth=1.8, zorder=5)  # fmt: skip
        ends[1].append((waits[-1], words, look[0]))
    top = f"The knee is at or left of the ring: {_extremes(knees)}"
    below = "p99 TTFT, by load"
    if limit_s is not None:
        below = f"p99 TTFT is within {limit_s:g} s (line) up to the dot: {_extremes(kept)}"
        axes[1].axhline(limit_s, **LIMIT)
    for axis, title, unit in zip(
        axes, (top, below), ("output tokens/s", "p99 TTFT, s"), strict=True
    ):
        dress(axis, title, "", unit)
    axes[0].set_ylim(0, 1.1 * max(most.values()))
    axes[1].set_yscale("log")
    axes[1].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    loads = sorted({load for by_load in runs.values() for load in by_load})
    seeds = len(next(iter(runs.values()))[loads[0]]["ttft_p99_s"])
    words = f"{x}; band: the middle 80 % of {seeds} seeds"
    axes[1].set_xlabel(words, fontsize=LABEL, color=INK)
    axes[1].set_xticks(loads, [f"{load:g}" for load in loads])
    if error:
        figure.supxlabel(error, x=0.02, ha="left", fontsize=TICK, color=INK)
    mark(axes[1], guess)
    for axis, end in zip(axes, ends, strict=True):
        _label_ends(axis, end)
    words = [words for end in ends for _, words, _ in end]
    describe(figure, f"Lines over {x}, a band over seeds.",
             [top, below, *words, *[error] * bool(error)])  # fmt: skip
    return figure


def _draw(
    axis: Axes, by_load: Mapping[float, Seeds], key: str, look: tuple[str, str, object]
) -> np.ndarray:
    """A line and its band. Returns the medians, by load."""
    colour, marker, dashes = look
    loads = sorted(by_load)
    values = np.array([by_load[load][key] for load in loads], float)
    low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
    axis.fill_between(loads, low, high, color=colour, alpha=0.2, linewidth=0)
    axis.plot(loads, middle, color=colour, marker=marker, linestyle=dashes, linewidth=2.2,
              markersize=6, markeredgecolor=INK, markeredgewidth=0.6)  # fmt: skip
    return middle


def _end_of_rise(loads: Sequence[float], tokens: np.ndarray) -> float:
    """The lowest load whose throughput is within 5 % of the highest."""
    return next(
        load for load, each in zip(loads, tokens, strict=True) if each >= 0.95 * max(tokens)
    )


def _crossing(loads: Sequence[float], values: np.ndarray, limit: float) -> float:
    """The load at which the line first leaves the limit; the last load if it stays within."""
    for i in range(1, len(loads)):
        if values[i] > limit:
            ends = np.log(values[i - 1 : i + 1])
            return float(np.interp(np.log(limit), ends, loads[i - 1 : i + 1]))
    return loads[-1]


def _extremes(loads: Mapping[str, float]) -> str:
    """ "11 a second with Sequential, 28 with Continuous(8)"; 0 is no load."""
    least, most = min(loads, key=loads.get), max(loads, key=loads.get)
    if loads[least] == loads[most]:
        return f"{loads[most]:.2g} a second with all" if loads[most] else "at no load"
    first = f"{loads[least]:.2g} a second" if loads[least] else "at no load"
    return f"{first} with {least}, {loads[most]:.2g} with {most}"


def _label_ends(axis: Axes, ends: Sequence[tuple[float, str, str]]) -> None:
    """Names right of the lines' ends, each joined to its own; moved apart where they would
    overlap, without leaving the panel."""
    to_axes = axis.transData + axis.transAxes.inverted()
    last = axis.lines[0].get_xdata()[-1]
    ordered = sorted(ends)
    places = [to_axes.transform((last, value))[1] for value, _, _ in ordered]
    for i in range(1, len(places)):
        places[i] = max(places[i], places[i - 1] + APART)
    for i, beyond in enumerate(reversed(range(len(places)))):
        places[beyond] = min(places[beyond], 0.94 - i * APART)
    for (value, words, colour), place in zip(ordered, places, strict=True):
        axis.annotate(words, (last, value), (1.03, place), xycoords="data",
                      textcoords="axes fraction", va="center", fontsize=TICK, color=INK,
                      arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 2,
                                  "relpos": (0, 0.5), "shrinkA": 0, "shrinkB": 4})  # fmt: skip
