"""Throughput and the wait for the first token over the load, for several policies and seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from ..colours import COLOURS, INK, WASTE
from ..guesses import mark
from ..picture import TICK, canvas, corner, describe, dress

Seeds = Mapping[str, Sequence[float]]  # "output_tokens_per_s" and "ttft_p99_s", a value a seed
LINES = (
    (COLOURS[7], "s"),
    (COLOURS[5], "^"),
    (COLOURS[4], "o"),
    (COLOURS[2], "D"),
    (COLOURS[6], "v"),
)


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

    runs: by policy and load. limit_s: a limit on the time to first token. error: the held-out
    error of the cost model, written into the corner. guess: the name of a predicted load. ax: two
    Axes.
    """
    figure, axes = canvas(2, ax, height=2.5)
    panels = (("output_tokens_per_s", "output tokens/s"), ("ttft_p99_s", "p99 TTFT, s"))
    kept: dict[str, str] = {}
    for (name, by_load), (colour, marker) in zip(runs.items(), LINES, strict=False):
        loads = sorted(by_load)
        for axis, (key, _) in zip(axes, panels, strict=True):
            values = np.array([by_load[load][key] for load in loads], float)
            low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
            axis.fill_between(loads, low, high, color=colour, alpha=0.2, linewidth=0)
            look = {"color": colour, "marker": marker, "linewidth": 2.2, "markersize": 6}
            axis.plot(loads, middle, **look, markeredgecolor=INK, markeredgewidth=0.6, label=name)
        if limit_s is not None:
            within = [load for load, value in zip(loads, middle, strict=True) if value <= limit_s]
            kept[name] = f"{name} {max(within):g}" if within else f"{name} never"
    most = {
        name: max(float(np.median(seeds["output_tokens_per_s"])) for seeds in by_load.values())
        for name, by_load in runs.items()
    }
    ends = ", ".join(f"{name} {_end_of_rise(by_load):g}" for name, by_load in runs.items())
    top = f"Throughput rises up to a load of: {ends}"
    below = "p99 TTFT, by load"
    if limit_s is not None:
        below = f"p99 TTFT is within {limit_s:g} s up to: {', '.join(kept.values())}"
        axes[1].axhline(limit_s, color=WASTE, linewidth=2.2)
        axes[1].annotate(f"limit: {limit_s:g} s", (0.99, limit_s), (0, 4), fontsize=TICK, color=INK,
                         xycoords=axes[1].get_yaxis_transform(), ha="right",
                         textcoords="offset points")  # fmt: skip
    for axis, title, (_, unit) in zip(axes, (top, below), panels, strict=True):
        dress(axis, title, "", unit)
    axes[0].set_ylim(0, (1.6 if error else 1.05) * max(most.values()))
    axes[1].set_yscale("log")
    axes[1].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes[1].set_xlabel(f"{x}; a band is 8 of 10 seeds", fontsize=13, color=INK)
    axes[1].set_xticks(sorted({load for by_load in runs.values() for load in by_load}))
    if error:
        corner(axes[0], error)
    mark(axes[1], guess)
    handles, _ = axes[0].get_legend_handles_labels()
    labels = [f"{name}: at most {most[name]:,.0f} tokens/s" for name in runs]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False,
                  fontsize=TICK)  # fmt: skip
    describe(
        figure, f"Lines over {x}, a band over seeds.", [top, below, *labels, *[error] * bool(error)]
    )
    return figure


def _end_of_rise(by_load: Mapping[float, Seeds]) -> float:
    """The lowest load whose throughput is within 3 % of the highest."""
    medians = {load: np.median(by_load[load]["output_tokens_per_s"]) for load in sorted(by_load)}
    return next(load for load, tokens in medians.items() if tokens >= 0.97 * max(medians.values()))
