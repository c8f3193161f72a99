"""How long each answer stops when a request with a long prompt joins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import EMPTY, INK, PAUSES, WAITS, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress
from .timeline import by_name

CALM = "#0072B2"
LOUD = 0.1  # seconds: a reader notices a longer pause


def seismograph(
    traces: Trace | Mapping[str, Trace],
    joining: str | Collection[str] = (),
    *,
    full_s: float | None = None,
    guess: str | None = None,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A line for each answer: the longer the wait for its next token, the thicker the line.

    traces: a trace, or several by name, on a clock of seconds. joining: ids of the requests whose
    prompts delay the others; the steps that compute these prompts are grey. A replay's trace has
    no steps; leave it out there. full_s: the wait that
    is drawn with full thickness, to compare several figures; None: the longest wait here. guess:
    the name of a prediction of the longest wait in the first trace, in ms. ax: where to draw, one
    Axes a trace. Raises ValueError if no other request has finished.
    """
    named = by_name(traces)
    joining = [joining] if isinstance(joining, str) else list(joining)
    times = {name: _token_times(trace, joining) for name, trace in named.items()}
    gaps = {name: [b - a for line in lines.values() for a, b in pairwise(line)]
            for name, lines in times.items()}  # fmt: skip
    if not all(gaps.values()):
        raise ValueError(
            "in one of these traces, no request except the joining ones has finished; give traces "
            "in which another request has finished, too"
        )
    longest = full_s or max(max(some) for some in gaps.values())
    figure, axes = canvas(len(named), ax, height=2.35)
    findings = []
    for axis, (name, trace) in zip(axes, named.items(), strict=True):
        begin = min(line[0] for line in times[name].values())
        for place, line in enumerate(times[name].values()):
            _draw_line(axis, place, [time - begin for time in line], longest)
        _name_the_pause(axis, [[time - begin for time in line] for line in times[name].values()])
        _mark_prompts(axis, trace, joining, begin)
        words = _finding(name, max(gaps[name]))
        findings.append(words + (said(guess) if axis is axes[0] else ""))
        dress(axis, findings[-1], "seconds since the first token" if axis is axes[-1] else "")
        axis.set_yticks(range(len(times[name])), list(times[name]))
        axis.tick_params(axis="y", length=0)
        axis.spines["left"].set_visible(False)
        axis.set_ylim(len(times[name]) - 0.4, -1.4)
        axis.margins(x=0.01)
    what = "Line thickness shows the wait for each next token"
    if joining:
        what += f"; {', '.join(joining)} join{'s' * (len(joining) == 1)}"
    describe(figure, f"{what}.", findings)
    return figure


def _token_times(trace: Trace, joining: Collection[str]) -> dict[str, list[float]]:
    done = sorted(trace.completions, key=lambda c: c.request_id)
    return {c.request_id: c.token_times for c in done if c.request_id not in joining}


def _draw_line(axis: Axes, place: int, times: list[float], longest: float) -> None:
    """A tick for each token; between two of them a bar whose thickness is the wait."""
    for loud, colour in ((False, CALM), (True, PAUSES)):
        stretches = []
        for begin, end in pairwise(times):
            half = 0.47 * (end - begin) / longest
            if (end - begin > LOUD) == loud:
                low, high = place - half, place + half
                stretches.append([(begin, low), (begin, high), (end, high), (end, low)])
        axis.add_collection(PolyCollection(stretches, facecolor=colour, edgecolor="none",
                                           snap=False, zorder=2))  # fmt: skip
    axis.plot(times, [place] * len(times), "|-", color=WORK, linewidth=1, markersize=7, zorder=1.5)


def _name_the_pause(axis: Axes, lines: list[list[float]]) -> None:
    """Say once that all answers stop, if they do so at the same time."""
    waits = [max(pairwise(line), key=lambda two: two[1] - two[0]) for line in lines]
    begin, end = max(a for a, _ in waits), min(b for _, b in waits)
    if len(lines) > 1 and end - begin > LOUD:
        axis.text((begin + end) / 2, (len(lines) - 1) / 2, f"all {len(lines)} answers wait",
                  ha="center", va="center", fontsize=LABEL, color=EMPTY)  # fmt: skip


def _mark_prompts(axis: Axes, trace: Trace, joining: Collection[str], zero: float) -> None:
    for name in joining:
        steps = [
            (step, row.num_tokens)
            for step in trace.steps
            for row in step.rows
            if row.request_id == name and row.kind == "prefill"
        ]
        begin, end = steps[0][0].start_time - zero, steps[-1][0].end_time - zero
        axis.axvspan(begin, end, facecolor=WAITS)
        for step, _ in steps[:-1]:
            axis.axvline(step.end_time - zero, color=EMPTY, linewidth=2, zorder=1)
        tokens, chunks = sum(n for _, n in steps), len(steps)
        how = "in one step" if chunks == 1 else f"in {chunks} chunks"
        words = f"{name}'s {tokens:,} tokens {how}"
        axis.text(begin, -0.85, words, fontsize=TICK, color=INK, va="center")


def _finding(name: str, longest: float) -> str:
    words = f"the longest wait for a next token is {1e3 * longest:.0f} ms"
    return f"{name}: {words}" if name else words[0].upper() + words[1:]
