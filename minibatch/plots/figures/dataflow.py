"""How threads hand one element of an array to each other, and where no barrier orders them."""

from __future__ import annotations

from math import prod

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...kernel_lab.arrays import READS, Access
from ...kernel_lab.faults import SITES
from ...kernel_lab.races import Race, races
from ...kernel_lab.report import Report
from ..colours import EMPTY, INK, WASTE, WORK, ink_on
from ..picture import LABEL, TICK, canvas, describe, dress

MOST_THREADS, MOST_ROUNDS = 4, 4
DID = ("reads", "writes", "updates")
WIDE, HIGH = 0.86, 0.66  # of a box


def dataflow(
    report: Report, array: str, *, thread_block: int = 0, ax: Axes | None = None
) -> Figure:
    """The accesses to one element: a lane for each of up to four threads, time to the right, a line
    for each barrier. It is the first element with a race, or else the first that is touched.

    Two unordered accesses are marked, and a dashed line is where a barrier is missing. Raises
    ValueError if the thread block does not touch the array.
    """
    size = prod(report.threads)
    found = [
        access
        for watched in report.arrays(array)
        for access in watched.accesses(watched.columns.thread // size == thread_block)
    ]
    if not found:
        raise ValueError(f"thread block {thread_block} does not touch {array}")
    race = next(iter(races(found, size, across=False)), None)
    place = race.place if race else min(access.place for access in found)
    here = [access for access in found if place in access.places]
    rounds = sorted({a.epoch for a in here if not race or a.epoch <= race.first.epoch})
    rounds = rounds[-MOST_ROUNDS:] if race else rounds[:MOST_ROUNDS]
    pair = [a.thread % size for a in race[1:3]] if race else []
    threads = list(dict.fromkeys([*pair, *sorted(a.thread % size for a in here)]))
    threads = sorted(threads[:MOST_THREADS])
    figure, (axis,) = canvas(1, ax, height=1.1 + 0.62 * len(threads))
    x = 0
    for epoch in rounds:
        if x:
            _line(axis, x, len(threads), "barrier", color=INK)
        now = [access for access in here if access.epoch == epoch]
        parts = [now]
        if race and epoch == race.first.epoch:
            parts = [
                [a for a in now if (a.row <= race.first.row) is early] for early in (True, False)
            ]
        for part in parts:
            if part is not now and part is parts[1]:
                look = {"color": WASTE, "linestyle": (0, (4, 3))}
                _line(axis, x, len(threads), "no barrier", **look)
            for lane, thread in enumerate(threads):
                for column, access in enumerate(_own(part, thread, size)):
                    _box(axis, x + column, lane, access, bool(race) and access in race[1:3])
            x += max(len(_own(part, thread, size)) for thread in threads)
    axis.set(xlim=(0, x), ylim=(len(threads), -0.75), xticks=[])
    names = [f"thread {thread}" for thread in threads]
    axis.set_yticks([lane + 0.5 for lane in range(len(threads))], names)
    title, finding = _findings(here, rounds, race, f"{array}[{place}]", size)
    num_threads = len({a.thread for a in here})
    more = f"; {len(threads)} of {num_threads} threads" * (num_threads > len(threads))
    dress(axis, title, f"time, from barrier to barrier{more}")
    axis.spines[["left", "bottom"]].set_visible(False)
    axis.tick_params(length=0, labelsize=LABEL)
    describe(figure, f"Accesses of threads to {array}[{place}].", finding)
    return figure


def _own(accesses: list[Access], thread: int, size: int) -> list[Access]:
    """A thread's accesses, without repetitions."""
    own = [access for access in accesses if access.thread % size == thread]
    return [
        a for a, before in zip(own, [None, *own], strict=False) if not before or before.how != a.how
    ]


def _findings(
    here: list[Access], rounds: list[int], race: Race | None, name: str, size: int
) -> tuple[str, list[str]]:
    """The title, and a sentence for each round."""
    found = []
    for epoch in rounds:
        count = [
            sum(a.epoch == epoch and (a.how != READS) == w for a in here) for w in (True, False)
        ]
        words = [
            f"{n} {d}{'s' * (n > 1)}" for n, d in zip(count, ("write", "read"), strict=True) if n
        ]
        found.append(f"Round {epoch + 1}: {', '.join(words)}")
    if not race:
        return f"A barrier lies between every write and read of {name}", found
    did = [
        f"thread {a.thread % size} {DID[a.how]} it in line {SITES[a.site].line}" for a in race[1:3]
    ]
    which = f"Round {race.first.epoch + 1}: element {race.place}"
    found[-1] = f"{which}: {', '.join(did)}, no barrier between them"
    threads = [a.thread % size for a in race[1:3]]
    return f"No barrier orders threads {threads[0]} and {threads[1]} at {name}", found


def _box(axis: Axes, x: float, lane: int, access: Access, in_race: bool) -> None:
    colour = WASTE if in_race else WORK if access.how != READS else EMPTY
    left, top = x + (1 - WIDE) / 2, lane + (1 - HIGH) / 2
    look = {"facecolor": colour, "edgecolor": INK, "linewidth": 1}
    axis.add_patch(Rectangle((left, top), WIDE, HIGH, **look))
    words = f"{DID[access.how]} it, line {SITES[access.site].line}"
    centre = {"ha": "center", "va": "center", "fontsize": TICK, "color": ink_on(colour)}
    axis.text(x + 0.5, lane + 0.5, words, **centre)


def _line(axis: Axes, x: float, bottom: int, words: str, **look: object) -> None:
    axis.plot([x, x], [-0.1, bottom], linewidth=2.5, **look)
    axis.text(x, -0.2, words, ha="center", va="bottom", fontsize=LABEL, color=look["color"])
