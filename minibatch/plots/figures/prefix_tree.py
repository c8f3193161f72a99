"""Prompts with common beginnings as a tree of blocks, and what each found in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from ...core.records import Lookup
from ...engine.trace import Trace
from ..colours import INK, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress

PALE = "#DCEFE8"  # found
ROOM = 0.1, 0.3  # of the longest prompt: a narrower box has no words, or only its blocks
Ids = tuple[int, ...]


class Box(NamedTuple):
    """Tokens `start` to `end` of the rows `first` to `last`, which are the same for all of them."""

    first: int
    last: int
    start: int
    end: int


def prefix_tree(
    trace: Trace, block_size: int = 16, *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A row for each request, its prompt from left to right. A box around tokens that neighbours
    share: blue where a request computed them, pale where it found them. At the end of a row: why
    no more was found.

    trace: of an engine with `prefix_caching`. block_size: tokens in its blocks. guess: the name of
    a prediction of the tokens found in all. Raises ValueError if the trace has no look-ups.
    """
    lookups = {}
    for step in trace.steps:
        for lookup in step.sharing.lookups if step.sharing else ():
            lookups.setdefault(lookup.request_id, lookup)
    if not lookups:
        raise ValueError(
            "no request of this trace used the prefix cache: was prefix_caching=True set?"
        )
    prompts = {c.request_id: c.prompt_token_ids for c in trace.completions}
    prompts = {name: prompts[name] for name in lookups if name in prompts}
    names, boxes = _tree(prompts, block_size)

    figure, (axis,) = canvas(1, ax, height=0.4 * len(names) + 0.3)
    longest = max(map(len, prompts.values()))
    for box in boxes:
        _draw(axis, box, [lookups[name].num_hits for name in names], block_size, longest)
    for y, name in enumerate(names):
        look = {"va": "center", "fontsize": TICK, "color": INK}
        axis.text(len(prompts[name]) + 0.012 * longest, y, _reason(lookups[name]), **look)
    num_tokens = sum(map(len, prompts.values()))
    num_found = sum(lookups[name].num_hits for name in names)
    finding = f"{num_found:,} of {num_tokens:,} prompt tokens were found in the cache"
    dress(axis, finding + said(guess), "token of the prompt", "")
    axis.set_xlim(0, longest * 1.34)
    axis.set_xticks([tick for tick in axis.get_xticks() if tick <= longest])
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.spines["bottom"].set_bounds(0, longest)
    axis.xaxis.label.set_x(1 / 2.68)
    axis.set_ylim(len(names) - 0.3, -0.6)
    axis.set_yticks(range(len(names)), names, weight="bold")
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    told = [
        f"{name}: {lookups[name].num_hits:,} of {len(prompts[name]):,} found; "
        + _reason(lookups[name])
        for name in names
    ]
    describe(figure, "A row for each prompt; rows share boxes of blocks.", [finding, *told])
    return figure


def _draw(axis: Axes, box: Box, hits: list[int], block_size: int, longest: int) -> None:
    """The box, divided where one row computed what the next row found."""
    num_blocks, width = (box.end - box.start) // block_size, (box.end - box.start) / longest

    def middle(row: int) -> int:
        return min(max(hits[row], box.start), box.end)

    for end_of_hits, rows in groupby(range(box.first, box.last + 1), middle):
        first, *others = rows
        height = 1 + len(others)
        for start, end, colour, verb in (
            (box.start, end_of_hits, PALE, "found"),
            (end_of_hits, box.end, WORK, "computed"),
        ):
            if end == start:
                continue
            look = {"facecolor": colour, "edgecolor": INK, "linewidth": 1}
            axis.add_patch(Rectangle((start, first - 0.5), end - start, height, **look))
            words = f"{num_blocks} blocks"
            words = f"{words}, {verb}" if width > ROOM[1] else words.replace(" ", "\n")
            if width > ROOM[1] or (width > ROOM[0] and others):
                place = (start + end) / 2, first + (height - 1) / 2
                axis.text(*place, words, ha="center", va="center", fontsize=LABEL, color=INK)


def _reason(lookup: Lookup) -> str:
    """Why no more was found, in a few words."""
    miss = lookup.miss
    why = {
        "diverged": f"differs from {miss.other} at token {miss.at:,}",
        "computed now": f"{miss.other} was computing the next block",
        "evicted": f"evicted, {miss.num_blocks_since} evictions ago",
        "partial block": "the rest does not fill a block",
    }
    return why.get(miss.reason, miss.reason)


def _tree(prompts: dict[str, list[int]], size: int) -> tuple[list[str], list[Box]]:
    """Names in an order in which requests that share blocks are neighbours; and the boxes."""
    chains = {
        name: [tuple(ids[i : i + size]) for i in range(0, len(ids) - size + 1, size)]
        for name, ids in prompts.items()
    }
    ordered: list[str] = []
    boxes: list[Box] = []

    def walk(group: list[str], start: int) -> None:
        first = len(ordered)
        if len(group) == 1:
            ordered.extend(group)
            boxes.append(Box(first, first, start * size, len(prompts[group[0]])))
            return
        end = start + _num_common([chains[name][start:] for name in group])
        for children in _by_next(group, chains, end):
            walk(children, end)
        if end > start:
            boxes.append(Box(first, len(ordered) - 1, start * size, end * size))

    for group in _by_next(list(chains), chains, 0):
        walk(group, 0)
    return ordered, boxes


def _by_next(group: list[str], chains: dict[str, list[Ids]], at: int) -> Iterator[list[str]]:
    """Groups of names whose next block is the same, in the order of their first names. A name
    without a next block is alone."""
    parts: dict[Ids | str, list[str]] = {}
    for name in group:
        parts.setdefault(chains[name][at] if at < len(chains[name]) else name, []).append(name)
    yield from parts.values()


def _num_common(chains: list[list[Ids]]) -> int:
    same = 0
    for blocks in zip(*chains, strict=False):
        if len(set(blocks)) > 1:
            break
        same += 1
    return same
