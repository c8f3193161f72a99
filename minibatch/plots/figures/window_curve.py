"""The effect of a window on the wait for the first token, or on the machine, over many streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ...simulator.streams import Outcome
from ..colours import COLOURS, INK, PROTAGONISTS, WORK
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress

P99 = "99th percentile"
Runs = Mapping[float, Sequence[Outcome]]
TINY = 1e-9
SURE = 28 / 30  # a change counts if this share of the streams has it
WORDS = {  # of a field of Outcome: axis label, words for less and for more
    "ttft_s": ("seconds\nto first token", "earlier first tokens", "later first tokens"),
    "machine_s": ("machine seconds\nper request", "less machine time", "more machine time"),
}


def window_curve(
    runs: Mapping[str, Runs],
    *,
    of: str = "ttft_s",
    yours: Mapping[str, tuple[float, Outcome]] | None = None,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """By window: the median of the streams, and a band from their 10th to their 90th
    percentile. A time to first token is a stream's mean; for
    it, the median of the streams' 99th percentiles is drawn, too. A panel for each traffic.

    runs: by traffic and window, in seconds, the outcomes of the same streams; 0 must be one of the
    windows. of: a field of Outcome, "ttft_s" or "machine_s". yours: by traffic, a window
    and one stream's outcome, drawn as a dot. guess: the name of a prediction for the first panel: a
    curve, or the best window. ax: one Axes a traffic.
    """
    height = 3.4 if of == "ttft_s" else 2.5
    figure, axes = canvas(len(runs), ax, height=height, beside=True)
    label, *words = WORDS[of]
    findings, told, highest = [], [], 0.0
    for axis, (name, by_window) in zip(axes, runs.items(), strict=True):
        windows = sorted(by_window)
        values = np.array([[getattr(o, of) for o in by_window[w]] for w in windows])
        low, middle, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
        lines = {"linewidth": 2, "markersize": 5}
        axis.plot(windows, middle, "o-", color=INK, **lines)
        axis.fill_between(windows, low, high, color=WORK, zorder=1)
        highest = max(highest, high.max())
        if of == "ttft_s":
            unlucky = [np.median([o.ttft_p99_s for o in by_window[w]]) for w in windows]
            axis.plot(windows, unlucky, "s--", color=COLOURS[4], **lines)
            _name(axis, P99, windows[-1], unlucky[-1], (0, 8), COLOURS[4])
            _name(axis, "mean", windows[-1], middle[-1], (0, -12), INK)
            highest = max(highest, *unlucky)
            told.append(f"{name}: {P99}: {unlucky[0]:.2f} s without a window, "
                        f"{min(unlucky):.2f} s at best")  # fmt: skip
        if yours and name in yours:
            window, outcome = yours[name]
            dot = {"color": PROTAGONISTS[2], "markeredgecolor": INK, "markersize": 14, "zorder": 7}
            axis.plot(window, getattr(outcome, of), "D", **dot)
            highest = max(highest, getattr(outcome, of))
        finding = _finding(windows, values, words)
        findings.append(f"{name}: {finding}")
        first = axis is axes[0]
        dress(
            axis,
            finding + (said(guess) if first else ""),
            f"window, max_wait (s); {name}",
            label if first else "",
        )
        axis.set_xlim(-0.03 * max(windows), None)  # so that the mark at 0 is complete
    axes[0].set_ylim(0, highest * 1.15)
    axes[0].yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10], min_n_ticks=4))
    mark(axes[0], guess)
    describe(figure, f"Panels by window: {label}.".replace("\n", " "), [*findings, *told])
    return figure


def _name(axis: Axes, words: str, x: float, y: float, shift: tuple[int, int], colour: str) -> None:
    """Label a line at its right end, above or below it."""
    axis.annotate(words, (x, y), shift, textcoords="offset points", ha="right", color=colour,
                  va="bottom" if shift[1] > 0 else "top", fontsize=LABEL)  # fmt: skip


def _finding(windows: list[float], values: np.ndarray, words: list[str]) -> str:
    """Which windows change the value in nearly all streams. values: by window, by stream."""
    change = values - values[0]
    num_streams = values.shape[1]
    for word, counts in zip(words, ((change < -TINY).sum(1), (change > TINY).sum(1)), strict=True):
        sure = counts >= SURE * num_streams - TINY
        if sure[-1]:  # from which window on?
            at = len(sure) - int(np.argmin(sure[::-1]))
            who = f"A window of {windows[at]:g} s or more brings {word}"
            return f"{who} in {counts[at:].min()} of {num_streams} streams"
        if sure.any():
            at = int(np.where(sure, np.median(values, axis=1), np.inf).argmin())
            who = f"A window of {windows[at]:g} s brings {word}"
            return f"{who} in {counts[at]} of {num_streams} streams"
    return "The streams do not agree on any window"
