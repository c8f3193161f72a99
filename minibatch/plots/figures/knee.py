"""Throughput and the wait for the first token over the load, for several policies and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, INK, WASTE
from ..guesses import mark
from ..picture import LABEL, TICK, canvas, corner, describe, dress

Seeds = Mapping[str, Sequence[float]]  # "output_tokens_per_s" and "ttft_p99_s", a value a seed
LINES = (
    (COLOURS[7], "s"),
    (COLOURS[5], "^"),
    (COLOURS[4], "o"),
    (COLOURS[2], "D"),
    (COLOURS[6], "v"),
)
APART = 0.12  # of a panel's height: two labels at the right end


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
    A ring marks each knee: the lowest load whose throughput is within 5 % of the highest.

    runs: by policy and load. limit_s: a limit on the time to first token. error: the held-out
    error of the cost model, written into the corner. guess: the name of a predicted load. ax: two
    Axes.
    """
    figure, axes = canvas(2, ax, height=2.5)
    panels = (("output_tokens_per_s", "output tokens/s"), ("ttft_p99_s", "p99 TTFT, s"))
    kept, most, knees = {}, {}, {}
    ends: tuple[list, list] = [], []
    for (name, by_load), (colour, marker) in zip(runs.items(), LINES, strict=False):
        loads = sorted(by_load)
        for axis, end, (key, _) in zip(axes, ends, panels, strict=True):
            values = np.array([by_load[load][key] for load in loads], float)
            low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
            axis.fill_between(loads, low, high, color=colour, alpha=0.2, linewidth=0)
            look = {"color": colour, "marker": marker, "linewidth": 2.2, "markersize": 6}
            axis.plot(loads, middle, **look, markeredgecolor=INK, markeredgewidth=0.6)
            end.append((middle[-1], name, colour))
            if axis is axes[0]:
                most[name], knees[name] = max(middle), _end_of_rise(loads, middle)
                at = knees[name], middle[loads.index(knees[name])]
                axis.plot(*at, "o", markersize=15, fillstyle="none", color=INK)
        kept[name] = "never"
        if limit_s is not None and middle[0] <= limit_s:
            kept[name] = f"{_crossing(loads, middle, limit_s):.3g}"
    top = f"The knees: {', '.join(f'{name} at {load:g}' for name, load in knees.items())}"
    below = "p99 TTFT, by load"
    if limit_s is not None:
        below = f"Within {limit_s:g} s up to: {', '.join(f'{n} {k}' for n, k in kept.items())}"
        axes[1].axhline(limit_s, color=WASTE, linewidth=2.2)
        axes[1].annotate(f"limit: {limit_s:g} s", (0.01, limit_s), (0, 4), fontsize=TICK, color=INK,
                         xycoords=axes[1].get_yaxis_transform(),
                         textcoords="offset points")  # fmt: skip
    for axis, title, (_, unit) in zip(axes, (top, below), panels, strict=True):
        dress(axis, title, "", unit)
    axes[0].set_ylim(0, (1.6 if error else 1.1) * max(most.values()))
    axes[1].set_yscale("log")
    axes[1].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1].set_xlabel(f"{x}; a band is 8 of 10 seeds", fontsize=LABEL, color=INK)
    loads = sorted({load for by_load in runs.values() for load in by_load})
    axes[1].set_xticks(loads, [f"{load:g}" for load in loads])
    axes[1].set_ylim(top=4 * axes[1].get_ylim()[1])  # room for names below the title
    if error:
        corner(axes[0], error)
    mark(axes[1], guess)
    words = {name: f"{name}: {tokens:,.0f}" for name, tokens in most.items()}
    _label_ends(axes[0], ends[0], words)
    _label_ends(axes[1], ends[1], {name: name for name in runs})
    labels = [f"{name}: at most {tokens:,.0f} tokens/s" for name, tokens in most.items()]
    describe(
        figure, f"Lines over {x}, a band over seeds.", [top, below, *labels, *[error] * bool(error)]
    )
    return figure


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


def _label_ends(
    axis: Axes, ends: Sequence[tuple[float, str, str]], words: Mapping[str, str]
) -> None:
    """Names at the right ends of the lines, moved apart where they would overlap."""
    to_axes = axis.transData + axis.transAxes.inverted()
    last = axis.lines[0].get_xdata()[-1]
    place = -1.0
    for value, name, colour in sorted(ends):
        place = max(to_axes.transform((last, value))[1], place + APART)
        axis.annotate(words[name], (1.01, place), xycoords="axes fraction", va="center",
                      fontsize=TICK, color=INK,
                      bbox={"facecolor": "white", "edgecolor": colour, "linewidth": 2,
                            "boxstyle": "round,pad=0.2"})  # fmt: skip
