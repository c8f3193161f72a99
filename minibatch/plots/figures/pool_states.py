"""The blocks of a pool at a few moments: who holds each, and which content can still be found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ..colours import EMPTY, INK, WAITS, WORK
from ..picture import LABEL, canvas, describe, dress

FREE, LOST = "free", "overwritten"  # words of a block that no request holds; "" is a block unused
HELD = {"facecolor": WORK, "edgecolor": INK, "linewidth": 1.5}
LOOKS = {
    FREE: {"facecolor": EMPTY, "edgecolor": INK, "linewidth": 1.5},
    LOST: {"facecolor": WAITS, "edgecolor": "#999999", "linewidth": 1},
}
NARROW = 12, 4  # blocks; a bar of fewer has only its number, or no text


def pool_states(
    states: Mapping[str, Sequence[str]], finding: str, *, ax: Axes | None = None
) -> Figure:
    """A line for each moment, and on it the pool's blocks from the first to the last.

    states: by name, one word for each block: its holders ("P and Q"), `FREE` if its content can be
    found, `LOST` if other content is in it, "" if it is unused. Neighbours with the same word are
    one bar; unused blocks have none. finding: the title.
    """
    figure, (axis,) = canvas(1, ax, height=0.7 + 0.55 * len(states))
    lines = []
    for y, (name, words) in enumerate(states.items()):
        left, told = 0, []
        for word, blocks in groupby(words):
            width = len(list(blocks))
            if word:
                axis.add_patch(Rectangle((left, y - 0.33), width, 0.66, **LOOKS.get(word, HELD)))
            if word and width >= NARROW[1]:
                label = "free, content kept" if word == FREE else word
                text = f"{label}: {width}" if width >= NARROW[0] else f"{width}"
                axis.text(left + width / 2, y, text, ha="center", va="center",
                          fontsize=LABEL, color=INK)  # fmt: skip
            left += width
            told.append(f"{width} {word or 'unused'}")
        lines.append(f"{name}: {', '.join(told)}")
    dress(axis, finding, "blocks of the pool, in the order of their numbers")
    axis.set_yticks(range(len(states)), states)
    axis.set_xlim(0, max(map(len, states.values())))
    axis.set_ylim(len(states) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0, labelsize=LABEL)
    axis.spines["left"].set_visible(False)
    describe(figure, "The blocks of the pool, moment by moment.", [finding, *lines])
    return figure
