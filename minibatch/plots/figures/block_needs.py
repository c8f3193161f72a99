"""Blocks that requests need in the next steps, if each answer reaches its maximum; and the pool."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from ..colours import LIMIT, WORK, ink_on
from ..picture import LABEL, TICK, canvas, describe, dress

SHADES = WORK, "#0072B2"


def block_needs(
    cases: Mapping[str, Mapping[str, tuple[int, int]]],
    num_blocks: int,
    block_size: int,
    *,
    ax: Axes | list[Axes] | None = None,
) -> Figure:
    """A panel for each case, and in it a column of blocks for each step: a box is a block.

    cases: by name, one or two requests: (num_tokens, max_num_tokens), in memory after the next
    step and at most. Such a request has one token more after each further step, and no block in
    the step after its maximum. The number in a column is that of the request's tokens.
    """
    figure, axes = canvas(len(cases), ax, height=3.1, beside=True)
    findings = []
    for axis, (name, requests) in zip(axes, cases.items(), strict=True):
        steps = range(max(most - now for now, most in requests.values()) + 1)
        highest = 0
        for t in steps:
            below = 0
            for (now, most), colour in zip(requests.values(), SHADES, strict=False):
                blocks = -(-(now + t) // block_size) if now + t <= most else 0
                for place in range(below, below + blocks):
                    axis.bar(t + 1, 1, 0.8, place, facecolor=colour, edgecolor="white",
                             linewidth=1.5)  # fmt: skip
                if blocks:
                    axis.text(t + 1, below + blocks - 0.5, f"{now + t}", ha="center", va="center",
                              fontsize=LABEL, color=ink_on(colour))  # fmt: skip
                below += blocks
            highest = max(highest, below)
        answer = "yes" if highest <= num_blocks else "no"
        findings.append(f"{name}: {answer}, {highest} blocks needed")
        axis.axhline(num_blocks, **LIMIT)
        dress(
            axis,
            findings[-1],
            "step (in a column: tokens of the request)",
            f"blocks of {block_size} tokens" * (axis is axes[0]),
        )
        axis.set_xticks([t + 1 for t in steps])
        axis.set_yticks(range(max(highest, num_blocks) + 2))
        axis.set_xlim(0.4, len(steps) + 0.6)
    names = list(next(iter(cases.values())))
    handles = [
        Patch(facecolor=colour, label=name) for name, colour in zip(names, SHADES, strict=False)
    ]
    line = axes[0].get_lines()[0]
    line.set_label(f"the pool: {num_blocks} blocks")
    figure.legend(handles=[*handles, line], loc="outside lower center", ncols=4, frameon=False,
                  fontsize=TICK)  # fmt: skip
    describe(figure, "Blocks that the requests need, step by step.", findings)
    return figure
