"""The bytes that kernels have in flight, beside what a GPU needs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...kernel_lab.in_flight import LATENCY_S, bytes_needed
from ..colours import INK, PROTAGONISTS, WORK, ink_on
from ..guesses import mark
from ..picture import TICK, canvas, describe, dress, percent

KB = 1024
GPUS = "H100", "H200"
LATENCIES = LATENCY_S / 2, LATENCY_S  # idle, busy


def in_flight(
    kernels: dict[str, int], *, yours: str = "", guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A bar for each kernel: bytes in flight on one multiprocessor, at most; below, a range for
    what an H100 and an H200 need on average (`bytes_needed`), over the assumed latencies
    of a load.

    kernels: bytes by label; top first, and the title is about the first. yours: the label to mark
    by another colour and bold. guess: the name of a prediction in KB, to draw.
    """
    figure, (axis,) = canvas(1, ax, height=2.0 + 0.55 * len(kernels))
    labels = []
    for y, (name, number) in enumerate(kernels.items()):
        colour = PROTAGONISTS[0] if name == yours else WORK
        axis.barh(y, number / KB, 0.62, color=colour, edgecolor=INK, linewidth=0.6)
        look = {"va": "center", "fontsize": TICK, "color": ink_on(colour)}
        axis.text(0.6, y, f"{number / KB:.0f} KB", **look)
        labels.append(f"{name} {number / KB:.0f} KB")
    idle, busy = (f"{each * 1e9:.0f} ns" for each in LATENCIES)
    for y, gpu in enumerate(GPUS, len(kernels)):
        least, most = (bytes_needed(gpu, each) / KB for each in LATENCIES)
        axis.barh(y, most - least, 0.62, least, color="white", edgecolor=INK, hatch="...")
        for x in (least, most) if gpu == GPUS[0] else ():
            axis.vlines(x, -0.5, y, color=INK, linewidth=1, linestyle=":", zorder=0)
        if gpu == GPUS[0]:
            axis.text(least, -0.55, f"an {gpu} needs", va="bottom", fontsize=TICK, color=INK)
        needs = f"{least:.2g} KB at {idle}", f"{most:.2g} KB at {busy}"
        axis.text(most + 0.4, y, ",\n".join(needs), va="center", fontsize=TICK, color=INK)
        labels.append(f"an {gpu} needs {', '.join(needs)}")
    axis.set_yticks(range(len(kernels) + 2), [*kernels, *(f"an {gpu} needs" for gpu in GPUS)])
    axis.set_ylim(len(kernels) + 1.6, -1.1)
    axis.set_xlim(0, max(1.1 * max(kernels.values()) / KB, 1.5 * most))
    first, number = next(iter(kernels.items()))
    low, high = (min(1, number / bytes_needed(GPUS[0], each)) for each in LATENCIES[::-1])
    reach = f"{percent(low)} ({busy}) to {percent(high)} ({idle})" if low < 1 else percent(1)
    finding = f"{first}: its bytes in flight allow at most {reach} of an H100's bandwidth"
    x = f"KB in flight on one multiprocessor, at most\n(assumed: a load takes {idle} to {busy})"
    dress(axis, finding.replace(" %", "\u00a0%"), x)
    for label, name in zip(axis.get_yticklabels(), kernels, strict=False):
        if name == yours:
            label.set(color=PROTAGONISTS[0], fontweight="bold")
    mark(axis, guess)
    describe(figure, f"{finding}.", labels)
    return figure
