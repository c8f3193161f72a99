"""The picture at the head of lesson 11, drawn by draw.py: a server that stalls, and what two load
generators measure of it."""

from matplotlib.figure import Figure

from minibatch.plots.colours import INK, WAITS, WASTE, WORK
from minibatch.plots.picture import Picture

DUE_MS = [50 * i for i in range(32)]
SERVICE_MS, STALL_MS = 20, (310, 1200)


def answered(sent: int) -> int:
    """When the server answers a request that is sent at this time."""
    begin, end = STALL_MS
    if sent >= end or sent + SERVICE_MS <= begin:
        return sent + SERVICE_MS
    return sent + SERVICE_MS + end - max(sent, begin)


def one_after_another() -> list[tuple[int, int]]:
    """When a generator that waits for each answer sends, and the latencies that it reports."""
    found, free = [], 0
    for due in DUE_MS:
        sent = max(due, free)
        free = answered(sent)
        found.append((sent, free - sent))
    return found


def two_load_generators() -> Figure:
    """The same stall, measured by a generator that waits for answers and by one that does not."""
    figure = Picture(figsize=(11, 3.6), facecolor="white")
    axis = figure.add_axes((0.08, 0.2, 0.9, 0.62))
    honest = [answered(due) - due for due in DUE_MS]
    axis.axvspan(*STALL_MS, color=WAITS, zorder=0)
    axis.text(STALL_MS[1] - 10, 905, "the server stalls", ha="right", va="center", color=INK)
    axis.scatter(DUE_MS, honest, color=WASTE, marker="o", s=60, zorder=2)
    axis.text(740, 590, "sent when due", color=INK, fontsize=13)
    waits = {"facecolor": WORK, "edgecolor": INK, "marker": "s", "s": 26}
    sent, latencies = zip(*one_after_another(), strict=True)
    axis.scatter(sent, latencies, **waits, zorder=3)
    axis.text(1250, 70, "waits for each answer", color=INK, fontsize=13)
    axis.set(xlabel="when a request was sent, ms", ylabel="reported latency, ms", ylim=(-50, 1000))
    axis.spines[["top", "right"]].set_visible(False)
    one, many = (sum(t > 2 * SERVICE_MS for t in found) for found in (latencies, honest))
    finding = f"One stall: a client that waits for answers reports {one} slow request, not {many}"
    axis.set_title(finding, loc="left", fontsize=15)
    figure.alt = f"{finding}."
    return figure
