"""Which thread writes and which reads an array, barrier round by barrier round."""

from __future__ import annotations

from math import prod

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from ...kernel_lab.arrays import READS, Access
from ...kernel_lab.faults import SITES
from ...kernel_lab.races import Race, races
from ...kernel_lab.report import Report
from ..colours import COLOURS, INK, WASTE
from ..picture import LABEL, TICK, canvas, describe, dress

MOST_ROUNDS, MOST_CELLS = 4, 64
READ, WRITTEN = COLOURS[4], COLOURS[0]
DID = ("reads", "writes", "updates")
THREADS, CELLS = 1.0, 0.0  # heights of the two rows
KEY = "solid, down: write; dashed, up: read; thick, with ✗: no barrier between them; "


def dataflow(
    report: Report,
    array: str,
    first: int | None = None,
    *,
    thread_block: int = 0,
    ax: list[Axes] | None = None,
) -> Figure:
    """Up to four rounds, from round `first` on, counted from 1; default: all if they are not more,
    or else from the first with a race.

    A round lies between two barriers. Threads are above, the array's elements below. An arrow down
    is a write, a dashed arrow up is a read; too many arrows become a band. Two unordered accesses
    are drawn thick, and their element is boxed and marked with ✗. Raises ValueError if the thread
    block does not touch the array.
    """
    size = prod(report.threads)
    found = [
        access
        for watched in report.arrays(array)
        for access in watched.accesses(watched.columns.thread // size == thread_block)
    ]
    if not found:
        raise ValueError(f"thread block {thread_block} does not touch {array}")
    pairs = races(found, size, across=False)
    rounds = sorted({access.epoch for access in found})
    many = len(rounds) > MOST_ROUNDS
    start = pairs[0].first.epoch if pairs and many else rounds[0]
    start = rounds[min(first - 1, len(rounds) - 1)] if first else start
    shown = [epoch for epoch in rounds if epoch >= start][:MOST_ROUNDS]
    racing = {pair.first.epoch: pair for pair in reversed(pairs)}  # of each round the first
    touched = sorted({p for a in found if a.epoch in shown for p in a.places})
    marked = {racing[epoch].place for epoch in shown if epoch in racing}
    places = sorted({*touched[:MOST_CELLS], *marked})
    figure, axes = canvas(len(shown), ax, height=2.2)
    findings = []
    for axis, epoch in zip(axes, shown, strict=True):
        here = [access for access in found if access.epoch == epoch]
        pair = racing.get(epoch)
        findings.append(f"Round {epoch + 1}: {_finding(here, pair, size)}")
        _draw(axis, here, pair, places, size)
        dress(axis, findings[-1])
        axis.set_yticks([CELLS, THREADS], [array, "threads"], fontsize=TICK)
        axis.spines[["left", "bottom"]].set_visible(False)
        axis.set(xticks=[], ylim=(-0.28, 1.28), xlim=(-0.03, 1.03))
    some = f"; {len(places)} of {len(touched):,} elements drawn" * (places != touched)
    which = f"rounds {shown[0] + 1} to {shown[-1] + 1} of {rounds[-1] + 1}" + some
    axes[-1].set_xlabel(KEY + which, fontsize=TICK, color=INK)
    describe(figure, f"Arrows between threads and the elements of {array}.", findings)
    return figure


def _finding(here: list[Access], pair: Race | None, size: int) -> str:
    if pair:
        did = [
            f"thread {a.thread % size} {DID[a.how]} it in line {SITES[a.site].line}"
            for a in pair[1:3]
        ]
        return f"element {pair.place}: {', '.join(did)}, no barrier between them"
    writes = sum(access.how != READS for access in here)
    counts = {"write": writes, "read": len(here) - writes}
    return " and ".join(f"{n:,} {what}{'s' * (n != 1)}" for what, n in counts.items() if n)


def _draw(axis: Axes, here: list[Access], pair: Race | None, places: list[int], size: int) -> None:
    thread_at = np.linspace(0, 1, size) if size > 1 else [0.5]
    cell_at = dict(
        zip(places, np.linspace(0, 1, len(places)) if places[1:] else [0.5], strict=True)
    )
    every = max(1, size // 16), max(1, len(places) // 16)
    for rank in range(0, size, every[0]):
        axis.text(thread_at[rank], THREADS + 0.06, rank, ha="center", fontsize=TICK, color=INK)
    below = {"ha": "center", "va": "top", "fontsize": TICK, "color": INK}
    for place in places[:: every[1]]:
        if not pair or place != pair.place:
            axis.text(cell_at[place], CELLS - 0.08, place, **below)
    arrows = {
        (access.thread % size, place, access.how != READS)
        for access in here
        for place in access.places
        if place in cell_at
    }
    racing = {(a.thread % size, pair.place, a.how != READS) for a in pair[1:3]} if pair else set()
    for is_write in (False, True):
        these = [each for each in arrows - racing if each[2] == is_write]
        lines = [((thread_at[rank], THREADS), (cell_at[at], CELLS)) for rank, at, _ in these]
        colour = WRITTEN if is_write else READ
        if len(these) > 4 * size:
            at = {SITES[a.site].line for a in here if (a.how != READS) == is_write}
            ends = [{each[i] for each in arrows if each[2] == is_write} for i in (0, 1)]
            each = "each of " * (prod(map(len, ends)) == sum(a[2] == is_write for a in arrows))
            did = (("read", "write")[is_write]) + "s" * bool(each)
            who = f"{each}{len(ends[0])} threads {did} {len(ends[1])} elements"
            where = f"line{'s' * (len(at) > 1)} {', '.join(map(str, sorted(at)))}"
            _band(axis, lines, colour, f"{who}, {where}")
        else:
            dashes = "-" if is_write else "--"
            axis.add_collection(
                LineCollection(lines, linewidths=1.6, colors=colour, linestyles=dashes)
            )
        ends = {line[is_write] for line in lines}
        heads = {"color": colour, "marker": "v" if is_write else "^", "s": 40, "zorder": 3}
        axis.scatter(*zip(*ends, strict=True), **heads) if ends else None
    for rank, place, is_write in racing:
        ends = (cell_at[place], CELLS + 0.12), (thread_at[rank], THREADS)  # above the box
        look = {"arrowstyle": "-|>", "color": WASTE, "linewidth": 4, "shrinkA": 0, "shrinkB": 0}
        style = {"linestyle": "-" if is_write else "--", "mutation_scale": 18}
        axis.annotate("", *(ends if is_write else ends[::-1]), arrowprops=look | style, zorder=4)
    if pair:
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": WASTE, "lw": 2.5}
        mark = {"ha": "center", "va": "center", "fontsize": TICK, "color": WASTE}
        axis.text(cell_at[pair.place], CELLS, f"✗ {pair.place}", bbox=box, zorder=5, **mark)


def _band(axis: Axes, lines: list[tuple], colour: str, words: str) -> None:
    """A band for too many arrows: from which threads to which elements, and how many."""
    above, below = ([end[0] for end in ends] for ends in zip(*lines, strict=True))
    left, right = (min(above), min(below)), (max(above), max(below))
    heights = [THREADS, CELLS]
    axis.fill_betweenx(heights, left, right, color=colour, alpha=0.15, linewidth=0)
    for x in (left, right):
        axis.plot(x, heights, color=colour, linestyle="--", linewidth=1.6)
    wide = [b - a for a, b in zip(left, right, strict=True)]  # above, below
    high = 0.5 if wide[0] == wide[1] else 0.76 if wide[0] > wide[1] else 0.24
    middle = (high * (left[0] + right[0]) + (1 - high) * (left[1] + right[1])) / 2
    box = {"facecolor": "white", "edgecolor": "none", "pad": 3}
    look = {"ha": "center", "va": "center", "fontsize": LABEL, "color": INK, "zorder": 5}
    axis.text(middle, CELLS + high * (THREADS - CELLS), words, bbox=box, **look)
