"""One request of a match, and what all others did while it was there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.records import StepRecord
from ..colours import FAINT, INK, PROTAGONISTS, WAITS, WASTE, WORK, ink_on
from ..picture import SMALL, TICK, canvas, describe, dress

if TYPE_CHECKING:
    from ...arena import Fate, Outcome

Stretch = tuple[str, float, float]  # kind, begin, end
OWN, LATER = PROTAGONISTS[0], PROTAGONISTS[1]
OWN_LANE = -1.7


def around_request(outcome: Outcome, request_id: str, *, ax: Axes | None = None) -> Figure:
    """A lane for the request, and one for each other request that ran before its first token, by
    arrival: waiting, prefill, decode, in seconds of the match.

    outcome: with its trace. A request that came later and began sooner has a colour of its own. A
    cross is a preemption; the dashed line is when the request's first token is due.
    """
    (fate,) = [each for each in outcome.fates if each.request_id == request_id]
    slo = outcome.match.rules.slo
    due = fate.arrival + slo.ttft
    first = (
        fate.token_times[0] if fate.token_times else max(s.end_time for s in outcome.trace.steps)
    )
    end = max(first, due) + 0.3
    ran = _stretches(outcome.trace.steps)
    others = [
        each
        for each in outcome.fates
        if each is not fate
        and any(begin < first and to > fate.arrival for _, begin, to in ran[each.request_id])
    ]
    figure, (axis,) = canvas(1, ax, height=1.1 + 0.34 * len(others))
    begins = fate.first_scheduled if fate.first_scheduled is not None else first
    num_later = 0
    for lane, each in enumerate([fate, *others], -1):
        later = each.arrival > fate.arrival and ran[each.request_id][0][1] < begins
        num_later += later
        colour = OWN if each is fate else LATER if later else WORK
        place, high = (OWN_LANE, 1.2) if each is fate else (lane, 0.8)
        _draw_lane(axis, place, high, each, ran[each.request_id], colour, end)
    for step in outcome.trace.steps:
        for name in step.preempted:
            lanes = [i for i, each in enumerate(others) if each.request_id == name]
            if name == request_id or lanes:
                at = lanes[0] if lanes else OWN_LANE
                axis.plot(step.start_time, at, "x", color=WASTE, markersize=8, markeredgewidth=2.4)
    axis.axvline(due, color=INK, linewidth=2, linestyle=(0, (6, 3)), zorder=5)
    axis.set_xlim(fate.arrival - 0.1, end)
    axis.set_ylim(len(others) - 0.4, -3.6)
    axis.annotate(f"{request_id}'s first token is due", (due, -2.5), (-6, 0), ha="right",
                  textcoords="offset points", va="bottom", fontsize=TICK, color=INK)  # fmt: skip
    names = [fate, *others]
    axis.set_yticks([OWN_LANE, *range(len(others))], [f"{n.request_id} {n.kind}" for n in names])
    axis.tick_params(axis="y", length=0)
    title = _finding(fate, first, num_later)
    dress(axis, title, "seconds of the match")
    axis.tick_params(axis="y", labelsize=SMALL if len(others) > 14 else TICK)
    _legend(figure, axis, bool(num_later))
    lines = [f"{each.request_id} ({each.kind}) came at {each.arrival:.2f} s" for each in others]
    describe(figure, "Lanes of requests over time.", [title, *lines])
    return figure


def _finding(fate: Fate, first: float, num_later: int) -> str:
    waits = (fate.first_scheduled or first) - fate.arrival
    words = f"Request {fate.request_id} waits {waits:.2f} s before its first step"
    if not fate.token_times:
        words += "; it gets no token"
    return words + (f"; {num_later} later requests began sooner" if num_later else "")


def _stretches(steps: Iterable[StepRecord]) -> dict[str, list[Stretch]]:
    """For each request, what it did in which seconds; steps of one kind in a row are one."""
    ran = defaultdict(list)
    for step in steps:
        for row in step.rows:
            mine = ran[row.request_id]
            if mine and mine[-1][0] == row.kind and step.start_time - mine[-1][2] < 1e-9:
                mine[-1] = row.kind, mine[-1][1], step.end_time
            else:
                mine.append((row.kind, step.start_time, step.end_time))
    return ran


def _draw_lane(
    axis: Axes, y: float, high: float, fate: Fate, ran: list[Stretch], colour: str, end: float
) -> None:
    last = fate.ended_at if fate.ended_at is not None else end
    look = {"height": high, "linewidth": 0.5}
    axis.barh(y, last - fate.arrival, left=fate.arrival, facecolor=WAITS, edgecolor=FAINT, **look)
    for kind, begin, to in ran:
        hatch = "////" if kind == "prefill" else ""
        axis.barh(y, to - begin, left=begin, facecolor=colour, hatch=hatch,
                  edgecolor=ink_on(colour), **look)  # fmt: skip


def _legend(figure: Figure, axis: Axes, with_later: bool) -> None:
    grey = {"edgecolor": INK, "facecolor": WORK, "linewidth": 0.5}
    handles = [
        axis.barh([-9], [0], label="waits", **grey | {"facecolor": WAITS, "edgecolor": FAINT}),
        axis.barh([-9], [0], label="prefill", **grey, hatch="////"),
        axis.barh([-9], [0], label="decode", **grey),
        *axis.plot([], [], "x", color=WASTE, markersize=8, markeredgewidth=2.4, linestyle="",
                   label="preempted"),
    ]  # fmt: skip
    if with_later:
        handles.append(
            axis.barh([-9], [0], label="came later, began sooner", **grey | {"facecolor": LATER})
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=5, frameon=False,
                  fontsize=TICK)  # fmt: skip
