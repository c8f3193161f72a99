"""The bytes that kernels have in flight, beside what a GPU needs."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...kernel_lab.in_flight import LATENCY_S, bytes_needed
from ..colours import INK, PROTAGONISTS, WORK, ink_on
from ..guesses import mark
from ..picture import TICK, canvas, describe, dress

KB = 1024
STYLES = {"H100": "-", "H200": (0, (6, 3))}


def in_flight(
    kernels: dict[str, int], *, yours: str = "", guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A bar for each kernel: bytes in flight on one multiprocessor, at most; a line for what an
    H100 and an H200 need all the time (`bytes_needed`).

    kernels: bytes by label; top first, and the title is about the first. yours: the label to mark
    by another colour and bold. guess: the name of a prediction in KB, to draw.
    """
    figure, (axis,) = canvas(1, ax, height=1.1 + 0.55 * len(kernels))
    labels = []
    for y, (name, number) in enumerate(kernels.items()):
        colour = PROTAGONISTS[0] if name == yours else WORK
        axis.barh(y, number / KB, 0.62, color=colour, edgecolor=INK, linewidth=0.6)
        look = {"va": "center", "fontsize": TICK + 1, "color": ink_on(colour)}
        axis.text(0.6, y, f"{number / KB:.0f} KB", **look)
        labels.append(f"{name} {number / KB:.0f} KB")
    for gpu, style in STYLES.items():
        needed = bytes_needed(gpu) / KB
        axis.axvline(needed, color=INK, linestyle=style, label=f"an {gpu} needs {needed:.0f} KB")
        labels.append(f"an {gpu} needs {needed:.0f} KB")
    axis.set_yticks(range(len(kernels)), list(kernels))
    axis.set_ylim(len(kernels) - 0.4, -0.6)
    axis.margins(x=0.1)
    first, number = next(iter(kernels.items()))
    share = number / bytes_needed("H100")
    busy, idle = f"{LATENCY_S * 1e9:.0f} ns", f"{LATENCY_S / 2 * 1e9:.0f} ns"
    finding = f"{first}: enough for {share:.0%} of an H100's bandwidth if a load takes {busy}"
    finding += f", for {min(1, 2 * share):.0%} if it takes {idle}"
    x = f"KB in flight on one multiprocessor, at most; the lines are for {busy} a load"
    dress(axis, finding, x)
    for label, name in zip(axis.get_yticklabels(), kernels, strict=True):
        if name == yours:
            label.set(color=PROTAGONISTS[0], fontweight="bold")
    axis.legend(fontsize=TICK, frameon=False, loc="upper right")
    mark(axis, guess)
    describe(figure, f"{finding}.", labels)
    return figure
