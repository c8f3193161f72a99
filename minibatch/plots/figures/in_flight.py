"""The bytes that kernels have in flight, beside what a GPU needs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...machine_code.in_flight import LATENCY_S, bytes_needed
from ..colours import EMPTY, INK, PROTAGONISTS, WORK, ink_on
from ..guesses import guess as guessed
from ..guesses import mark
from ..picture import TICK, canvas, describe, dress

KB = 1024
GPUS = "H100", "H200"
LATENCIES = LATENCY_S / 2, LATENCY_S  # idle, busy


def in_flight(
    kernels: dict[str, int], *, yours: str = "", guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A bar for each kernel: bytes in flight on one multiprocessor, at most; below, a range for
    what an H100 and an H200 need on average (`bytes_needed`), over the assumed latencies
    of a load. Dotted lines over the bars are the ends of the H100's range.

    kernels: bytes by label; top first, and the title is about the first. yours: the label to mark
    by another colour and bold. guess: the name of a prediction in KB, to draw.
    """
    figure, (axis,) = canvas(1, ax, height=2.0 + 0.55 * len(kernels))
    labels, widest = [], max(kernels.values()) / KB
    most = bytes_needed(GPUS[-1], LATENCIES[-1]) / KB
    end = max(1.1 * widest, 1.5 * most)
    look = {"fontsize": TICK, "textcoords": "offset points", "zorder": 7}  # over every line
    paper = {"edgecolor": "none", "pad": 1}
    for y, (name, number) in enumerate(kernels.items()):
        colour = PROTAGONISTS[0] if name == yours else WORK
        axis.barh(y, number / KB, 0.62, color=colour, edgecolor=INK, linewidth=0.6)
        inside = number / KB > 0.1 * end
        ground = colour if inside else EMPTY
        look |= {"va": "center", "color": ink_on(ground), "bbox": paper | {"facecolor": ground}}
        axis.annotate(f"{number / KB:.0f} KB", (0 if inside else number / KB, y), (6, 0), **look)
        labels.append(f"{name} {number / KB:.0f} KB")
    look |= {"color": INK, "bbox": paper | {"facecolor": EMPTY}}
    idle, busy = (f"{each * 1e9:.0f} ns" for each in LATENCIES)
    for y, gpu in enumerate(GPUS, len(kernels)):
        least, most = (bytes_needed(gpu, each) / KB for each in LATENCIES)
        axis.barh(y, most - least, 0.62, least, color="white", edgecolor=INK, hatch="...")
        lines = ((least, idle, "right"), (most, busy, "left")) if gpu == GPUS[0] else ()
        for x, latency, side in lines:
            axis.vlines(x, -0.6, y, color=INK, linewidth=1.5, linestyle=":", zorder=3)
            axis.annotate(latency, (x, -0.85), (12 if side == "right" else -12, 0), ha=side, **look)
        needs = f"{least:.2g} KB at {idle}", f"{most:.2g} KB at {busy}"
        axis.annotate(f"{least:.2g} to {most:.2g} KB", (most, y), (6, 0), **look)
        labels.append(f"an {gpu} needs {', '.join(needs)}")
    axis.set_yticks(range(len(kernels) + 2), [*kernels, *(f"an {gpu} needs" for gpu in GPUS)])
    room = 0 if guess is None or guessed(guess) is None else 0.9  # for its label
    axis.set_ylim(len(kernels) + 1.6, -1.3 - room)
    axis.set_xlim(0, end)
    first, number = next(iter(kernels.items()))
    needs = " to ".join(f"{bytes_needed(GPUS[0], each) / KB:.2g}" for each in LATENCIES)
    finding = f"{first} has at most {number / KB:.0f} KB in flight; an {GPUS[0]} needs {needs} KB"
    x = f"KB in flight on one multiprocessor; assumed: a load takes {idle} to {busy}"
    dress(axis, finding, x)
    for label, name in zip(axis.get_yticklabels(), kernels, strict=False):
        if name == yours:
            label.set(color=PROTAGONISTS[0], fontweight="bold")
    mark(axis, guess)
    describe(figure, f"{finding}.", labels)
    return figure
