"""Rules for when a batch may start, on the same streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...simulator.streams import Outcome
from ..colours import INK, PROTAGONISTS, WORK
from ..picture import canvas, describe, dress


def rules(
    runs: Mapping[str, Mapping[str, Sequence[Outcome]]],
    *,
    yours: str,
    ax: list[Axes] | None = None,
) -> Figure:
    """A dot for each stream, and a bar at their median, by rule; a panel for each traffic.

    runs: by traffic and rule, the outcomes of the same streams. yours: the rule to mark,
    and to compare with the first one. ax: one Axes a traffic.
    """
    figure, axes = canvas(
        len(runs), ax, height=0.6 + 0.55 * len(next(iter(runs.values()))), beside=True
    )
    findings = []
    for axis, (name, by_rule) in zip(axes, runs.items(), strict=True):
        for y, (rule, found) in enumerate(by_rule.items()):
            seconds = [outcome.ttft_s for outcome in found]
            median = float(np.median(seconds))
            colour = PROTAGONISTS[2] if rule == yours else WORK
            axis.plot(seconds, [y] * len(seconds), "o", color=colour, markersize=7, alpha=0.6)
            axis.plot([median] * 2, [y - 0.32, y + 0.32], color=INK, linewidth=3)
        axis.set_yticks(range(len(by_rule)), list(by_rule))
        axis.set_ylim(len(by_rule) - 0.5, -0.5)
        than, sooner = next(iter(by_rule)), _sooner(by_rule, yours)
        finding = f"{yours} beats {than}: {sooner}"
        findings.append(f"{name}: {finding}")
        dress(axis, finding, f"mean seconds to first token;\n{name}")
    longest = max(axis.get_xlim()[1] for axis in axes)
    for axis in axes:
        axis.set_xlim(0, longest)
    describe(figure, "Dots by rule, one for each stream: mean time to first token.", findings)
    return figure


def _sooner(by_rule: Mapping[str, Sequence[Outcome]], yours: str) -> str:
    first = next(iter(by_rule))
    pairs = zip(by_rule[yours], by_rule[first], strict=True)
    sooner = sum(mine.ttft_s < other.ttft_s - 1e-9 for mine, other in pairs)
    return f"{sooner} of {len(by_rule[first])}"
