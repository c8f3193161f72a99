"""What large blocks cost: empty memory, and a prefix of which less can be shared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...core.request import Request
from ...memory.contiguous import final_length
from ..colours import INK, WASTE
from ..guesses import mark, said
from ..picture import LABEL, canvas, describe, dress


def block_size_tradeoff(
    requests: Iterable[Request],
    prefix: int,
    sizes: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048),
    *,
    guess: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Two curves by block size, in percent: the empty part of the blocks that `requests` hold, over
    their whole lives; and the part of a common prefix of `prefix` tokens that can be reused, which
    is its full blocks.

    requests: prompts are lists of ids, and each request generates its max_tokens. guess: the name
    of a prediction of the best block size.
    """
    lives = [range(len(r.prompt), final_length(r) + 1) for r in requests]
    waste, reusable = [], []
    for size in sizes:
        taken = sum(-(-length // size) * size for life in lives for length in life)
        waste.append(100 * (1 - sum(map(sum, lives)) / taken))
        reusable.append(100 * (prefix // size * size) / prefix)
    figure, (axis,) = canvas(1, ax, height=3.4)
    lines = (  # with a label at a place along the line, and its distance in points
        ("empty part\nof the memory", waste, WASTE, "s-", 0.64, (-9, 16), "right"),
        (f"part of a {prefix}-token\nprefix that can be shared", reusable, "#0072B2", "o-.", 0.36,
         (22, -50), "left"),
    )  # fmt: skip
    for label, values, colour, style, place, offset, side in lines:
        axis.plot(sizes, values, style, color=colour, linewidth=2.5, markersize=7)
        i = round(place * (len(sizes) - 1))
        axis.annotate(label, (sizes[i], values[i]), offset, textcoords="offset points", ha=side,
                      va="center", fontsize=LABEL, color=INK)  # fmt: skip
    axis.set_xscale("log", base=2)
    axis.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    axis.set_ylim(-3, 108)
    at = sizes.index(16) if 16 in sizes else len(sizes) // 2
    axis.axvspan(sizes[at] / 1.25, sizes[at] * 1.25, color=INK, alpha=0.1)
    finding = (
        f"Blocks of {sizes[at]}: {waste[at]:.0f} % is empty, {reusable[at]:.0f} % of the prefix "
        "can be shared"
    )
    dress(axis, finding + said(guess), "tokens in a block", "%")
    mark(axis, guess)
    describe(figure, "Two curves against the block size.", [finding])
    return figure
