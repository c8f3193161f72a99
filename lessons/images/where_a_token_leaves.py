"""The picture in lesson 13, drawn by draw.py: a split request, and which replica sends its first
token. Times are those of the lesson's experiment at 10 Gbit/s, where the transfer can be seen."""

from matplotlib.figure import Figure

from minibatch.plots.colours import HATCHES, INK, WAITS, WORK
from minibatch.plots.picture import TICK, canvas, describe, dress
from minibatch.simulator.fleet import distserve


def where_a_token_leaves() -> Figure:
    """Two lanes, prefill and decode, and between them K and V on the network."""
    machine, num_tokens = distserve.MACHINE, 512
    fleet = distserve.apart(2, 1, bytes_per_s=1.25e9)
    prefill = machine.seconds(1, num_tokens, num_tokens, num_tokens * (num_tokens + 1) // 2)
    moved, step = fleet.apart.transfer_s(num_tokens), machine.seconds(1, 0, num_tokens + 1, 0)
    size = num_tokens * machine.shape.kv_bytes_per_token
    figure, (axis,) = canvas(1, None, height=3.2)
    box = {"height": 0.5, "edgecolor": INK, "linewidth": 1.2}
    axis.barh(1, prefill, color=WORK, hatch=HATCHES["prefill"], **box)
    axis.barh(0.5, moved, left=prefill, color=WAITS, **box)
    for number in range(6):
        left = prefill + moved + number * step
        axis.barh(0, step, left=left, color=WORK, **box)
    texts = (
        (0.055, 1.55, f"prompt, {num_tokens} tokens"),
        (prefill + moved / 2, 0.5, f"K and V, {size / 1e6:,.0f} MB over 10 Gbit/s"),
        (prefill + moved + 3 * step, -0.55, "decode, a token each"),
    )
    for x, y, text in texts:
        axis.text(x, y, text, ha="center", va="center", fontsize=TICK, color=INK)
    first = (
        (prefill, 1, "left", 1, "the prefill replica answers:\nfirst token here (DistServe)"),
        (prefill + moved, 0, "right", -1, "the decode replica answers:\nfirst token here (SGLang)"),
    )
    for x, y, side, sign, text in first:
        axis.plot(x, y + sign * 0.29, "v" if sign > 0 else "^", color=INK, markersize=11)
        axis.annotate(text, (x, y), (12 * sign, 0), ha=side, va="center",
                      textcoords="offset points", fontsize=TICK, color=INK)  # fmt: skip
    dress(axis, "The first token leaves before the transfer, or after it", "seconds")
    axis.set_yticks([1, 0.5, 0], ["prefill replica", "network", "decode replica"])
    axis.set_ylim(-0.9, 1.8)
    axis.spines["left"].set_visible(False)
    describe(
        figure,
        "A prompt is computed at the prefill replica. Its K and V cross the network to the "
        "decode replica, which generates the answer.",
        [],
    )
    return figure
