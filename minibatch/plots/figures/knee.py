"""Throughput and the wait for the first token over the load, for several systems and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, FAINT, INK, LIMIT
from ..guesses import mark
from ..picture import LABEL, canvas, describe, dress

Seeds = Mapping[str, Sequence[float]]  # "output_tokens_per_s" and "ttft_p99_s", a value a seed
LINES = ((FAINT, ":"), (INK, "--"), (COLOURS[4], "-"))
APART = 0.12  # of a panel's height: two names at the right end


def knee(
    runs: Mapping[str, Mapping[float, Seeds]],
    *,
    limit_s: float,
    guess: str | None = None,
    ax: list[Axes] | None = None,
) -> Figure:
    """Two panels, one below the other: output tokens a second, and p99 time to first token on a
    logarithmic axis. A line is the median over seeds. A ring marks the lowest load whose throughput
    is within 5 % of the highest: the knee is at this load or between it and the load before.

    runs: of at most three systems, by name and load in requests a second. limit_s: a limit on the
    time to first token. guess: the name of a prediction of the highest load within the limit, for
    the last system. ax: two Axes.
    """
    figure, axes = canvas(2, ax, height=2.8)
    kept, knees, ends = {}, {}, ([], [])
    for (name, by_load), (colour, dashes) in zip(runs.items(), LINES, strict=False):
        loads = sorted(by_load)
        tokens, waits = (
            np.median([by_load[load][key] for load in loads], axis=1)
            for key in ("output_tokens_per_s", "ttft_p99_s")
        )
        for axis, line, end in zip(axes, (tokens, waits), ends, strict=True):
            axis.plot(loads, line, color=colour, linestyle=dashes, linewidth=2.8)
            end.append((line[-1], name))
        at = int(np.argmax(tokens >= 0.95 * max(tokens)))
        knees[name] = f"{name}: knee at or below {loads[at]:g}"
        axes[0].plot(loads[at], tokens[at], "o", markersize=13, fillstyle="none", color=INK)
        kept[name] = _crossing(loads, waits, limit_s)
    axes[1].axhline(limit_s, **LIMIT | {"linestyle": "-", "linewidth": 1})
    above = "Throughput rises up to the knee (ring)"
    below = f"{name} keeps the limit of {limit_s:g} s up to {kept[name]:.2g} requests/s"
    if not kept[name]:
        below = f"{name} does not keep the limit of {limit_s:g} s at any tested rate"
    dress(axes[0], above, "", "output tokens/s")
    dress(axes[1], below, "requests a second", "p99 TTFT, s")
    axes[0].set_ylim(bottom=0)
    axes[1].set_yscale("log")
    axes[1].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1].set_xlim(0, 1.3 * loads[-1])  # room for the names
    axes[1].set_xticks(loads, [f"{load:g}" for load in loads])
    mark(axes[1], guess)
    for axis, end in zip(axes, ends, strict=True):
        _name_ends(axis, loads[-1], end)
    limits = [f"{name}: {f'up to {load:.2g}' if load else 'never'}" for name, load in kept.items()]
    describe(figure, "Lines over requests a second.", [above, *knees.values(), below, *limits])
    return figure


def _crossing(loads: Sequence[float], values: np.ndarray, limit: float) -> float:
    """The load at which the line first leaves the limit; the last load if it stays within, 0 if it
    is never within."""
    if values[0] > limit:
        return 0.0
    for i in range(1, len(loads)):
        if values[i] > limit:
            ends = np.log(values[i - 1 : i + 1])
            return float(np.interp(np.log(limit), ends, loads[i - 1 : i + 1]))
    return loads[-1]


def _name_ends(axis: Axes, last: float, ends: Sequence[tuple[float, str]]) -> None:
    """A name right of each line's end; names that would overlap are moved up."""
    to_axes = axis.transData + axis.transAxes.inverted()
    place = -1.0
    for value, name in sorted(ends):
        place = max(to_axes.transform((last, value))[1], place + APART)
        axis.annotate(name, (last, place), (8, 0), ("data", "axes fraction"),
                      textcoords="offset points", va="center", fontsize=LABEL,
                      color=INK)  # fmt: skip
