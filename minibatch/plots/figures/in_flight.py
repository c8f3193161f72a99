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
GPUS = "H200", "H100"
MEASURE = "H100"  # of the dotted lines and of the title
LATENCIES = LATENCY_S / 2, LATENCY_S  # idle, busy


def in_flight(
    kernels: dict[str, int], *, yours: str = "", guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A bar for each kernel: bytes in flight on one multiprocessor, at most; above, a range for
    what an H200 and an H100 need on average (`bytes_needed`), over the assumed latencies
    of a load. Dotted lines lead from the ends of the H100's range over the bars.

    kernels: bytes by label; top first, and the title is about the first. yours: the label to mark
    by another colour and bold. guess: the name of a prediction in KB, to draw.
    """
    figure, (axis,) = canvas(1, ax, height=2.0 + 0.55 * len(kernels))
    labels, widest = [], max(kernels.values()) / KB
    most = bytes_needed(GPUS[0], LATENCIES[-1]) / KB
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
    for y, gpu in enumerate(GPUS):
        least, most = (bytes_needed(gpu, each) / KB for each in LATENCIES)
        axis.barh(y - 2, most - least, 0.62, least, color="white", edgecolor=INK, hatch="...")
        if gpu == MEASURE:
            dotted = {"color": INK, "linewidth": 1.5, "linestyle": ":", "zorder": 3}
            axis.vlines([least, most], y - 2, len(kernels) - 0.5, **dotted)
        needs = f"{least:.2g} KB at {idle}", f"{most:.2g} KB at {busy}"
        axis.annotate(f"{least:.2g} to {most:.2g} KB", (most, y - 2), (6, 0), **look)
        labels.append(f"an {gpu} needs {', '.join(needs)}")
    names = [*(f"an {gpu} needs" for gpu in GPUS), *kernels]
    axis.set_yticks(range(-2, len(kernels)), names)
    room = 0 if guess is None or guessed(guess) is None else 0.9  # for its label
    axis.set_ylim(len(kernels) - 0.4, -2.6 - room)
    axis.set_xlim(0, end)
    first, number = next(iter(kernels.items()))
    needs = " to ".join(f"{bytes_needed(MEASURE, each) / KB:.2g}" for each in LATENCIES)
    finding = f"{first} has at most {number / KB:.0f} KB in flight; an {MEASURE} needs {needs} KB"
    x = f"KB in flight on one multiprocessor; assumed: a load takes {idle} to {busy}"
    dress(axis, finding, x)
    for label, name in zip(axis.get_yticklabels(), names, strict=True):
        if name == yours:
            label.set(color=PROTAGONISTS[0], fontweight="bold")
    mark(axis, guess)
    describe(figure, f"{finding}.", labels)
    return figure
