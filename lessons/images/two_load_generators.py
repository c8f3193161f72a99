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
    figure = Picture(figsize=(11, 4.8), facecolor="white", layout="constrained")
    honest = [(due, answered(due) - due) for due in DUE_MS]
    clients = {
        "sends each request when it is due": (honest, WORK, "o"),
        "waits for each answer": (one_after_another(), WASTE, "s"),
    }
    axes = figure.subplots(2, sharex=True, sharey=True)
    counts = []
    for axis, (name, (found, colour, marker)) in zip(axes, clients.items(), strict=True):
        axis.axvspan(*STALL_MS, color=WAITS, zorder=0)
        sent, latencies = zip(*found, strict=True)
        axis.scatter(sent, latencies, color=colour, edgecolor=INK, linewidth=0.8, marker=marker,
                     s=32, zorder=2)  # fmt: skip
        counts.append(sum(t > 2 * SERVICE_MS for t in latencies))
        axis.text(1190, 900, name, ha="right", va="center", color=INK, fontsize=15)
        axis.tick_params(labelsize=13)
        axis.set_ylim(-80, 1080)
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].text(1220, 520, "grey: the server stalls", va="center", color=INK, fontsize=13)
    axes[1].set_xlabel("when a request was sent, ms", fontsize=14)
    figure.supylabel("reported latency, ms", fontsize=14)
    many, one = counts
    finding = f"One stall: a client that waits for answers reports {one} slow request, not {many}"
    axes[0].set_title(finding, loc="left", fontsize=17)
    figure.alt = f"{finding}."
    return figure
