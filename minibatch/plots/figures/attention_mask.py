"""Which tokens of a packed line each token may read: the mask itself, with the prompts' borders."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..colours import EMPTY, INK, WASTE, WORK
from ..picture import SMALL, TICK, Picture, describe, dress


def attention_mask(mask: np.ndarray, num_tokens: Mapping[str, int]) -> Figure:
    """A dot for each pair of tokens: filled if the row's token may read the column's token.

    mask: bool [tokens, tokens], of anything that NumPy takes. num_tokens: of each prompt, by name,
    in the order of the line. Pairs of two prompts have the colour of waste. Raises ValueError if
    the numbers of tokens do not fill the mask.
    """
    allowed = np.asarray(mask, dtype=bool)
    ends = np.cumsum(list(num_tokens.values()))
    if allowed.shape != (ends[-1], ends[-1]):
        raise ValueError(f"a mask of {allowed.shape} for {ends[-1]} tokens; give a square of them")
    owner = np.repeat(np.arange(len(ends)), list(num_tokens.values()))
    own = owner[:, None] == owner
    figure = Picture(figsize=(11, 4.6), layout="constrained", facecolor="white")
    axis = figure.subplots()
    image = np.empty((*allowed.shape, 3), dtype=np.uint8)
    for where, colour in ((~allowed, EMPTY), (allowed & own, WORK), (allowed & ~own, WASTE)):
        image[where] = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    size = int(ends[-1])
    axis.imshow(image, extent=(0, size, size, 0), interpolation="nearest")
    axis.set_anchor("W")
    for end in ends[:-1]:
        axis.axhline(end, color=INK, linewidth=1.2, linestyle="--")
        axis.axvline(end, color=INK, linewidth=1.2, linestyle="--")
    spans = dict(zip(num_tokens, zip([0, *ends[:-1]], ends, strict=True), strict=True))
    told = []
    for (reader, (top, bottom)), (read, (left, right)) in product(spans.items(), repeat=2):
        if num := int(allowed[top:bottom, left:right].sum()):
            told.append(f"{reader} reads {read}: {num:,} pairs")
            place = left + (right - left) / 3, top + 2 * (bottom - top) / 3
            look = {"ha": "center", "va": "center", "fontsize": TICK, "color": INK}
            axis.text(*place, reader if reader == read else f"{reader} reads {read}", **look)
    mixed = int((allowed & ~own).sum())
    every = f"{int(allowed.sum()):,} of {allowed.size:,} pairs are allowed"
    finding = f"{mixed:,} pairs mix two prompts" if mixed else "No prompt reads another"
    names = ", then ".join(f"{name} ({num})" for name, num in num_tokens.items())
    dress(axis, finding, f"token that is read:\n{names}", "token that reads")
    axis.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    axis.tick_params(labelsize=SMALL)
    describe(figure, "Tokens by tokens: which may read which.", [f"{finding}: {every}", *told])
    return figure
