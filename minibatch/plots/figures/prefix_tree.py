"""Prompts with common beginnings as a tree of blocks, and what each found in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ...core.records import Lookup
from ...engine.trace import Trace
from ..colours import EMPTY, INK, PROTAGONISTS, WORK
from ..guesses import said
from ..picture import LABEL, TICK, canvas, describe, dress

FOUND, HATCH = PROTAGONISTS[0], "////"
PALE = "#B7DFD1"  # the same, behind letters
Ids = tuple[int, ...]


@dataclass(frozen=True)
class Branch:
    """Blocks `start` to `end` of the rows `first` to `last`, which are the same for all of them."""

    first: int
    last: int
    start: int
    end: int


def prefix_tree(
    trace: Trace, block_size: int = 16, *, guess: str | None = None, ax: Axes | None = None
) -> Figure:
    """A row for each request, its prompt from left to right; thick lines around blocks that
    several rows share, with their number. Hatched: found in the cache. Plain: computed. On the
    right: why no more was found.

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
    chains = {name: _blocks(ids, block_size) for name, ids in prompts.items()}
    names, branches = _tree(chains)

    figure, (axis,) = canvas(1, ax, height=0.42 * len(names) + 0.5)
    longest = max(map(len, prompts.values()))
    for y, name in enumerate(names):
        _row(axis, y, len(prompts[name]), lookups[name].num_hits)
        words = _reason(lookups[name], len(prompts[name]))
        axis.text(longest * 1.02, y, words, va="center", fontsize=TICK, color=INK)
    for branch in branches:
        _outline(axis, branch, block_size, longest)
    num_tokens = sum(map(len, prompts.values()))
    num_found = sum(lookups[name].num_hits for name in names)
    finding = f"{num_found:,} of {num_tokens:,} prompt tokens were found in the cache"
    dress(axis, finding + said(guess), "token of the prompt", "")
    axis.set_xlim(0, longest * 1.5)
    axis.set_xticks([tick for tick in axis.get_xticks() if tick <= longest])
    axis.xaxis.set_major_formatter("{x:,.0f}")
    axis.spines["bottom"].set_bounds(0, longest)
    axis.xaxis.label.set_x(1 / 3)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_yticks(range(len(names)), names, weight="bold")
    axis.spines["left"].set_visible(False)
    axis.tick_params(axis="y", length=0)
    kinds = [
        Patch(facecolor=PALE, edgecolor=FOUND, hatch=HATCH, label="found"),
        Patch(facecolor=WORK, edgecolor=INK, label="computed"),
        Patch(
            facecolor=EMPTY,
            edgecolor=INK,
            linewidth=2.5,
            label="frame: blocks that prompts share, with their number if there is room",
        ),
    ]
    figure.legend(handles=kinds, loc="outside lower center", ncols=3, frameon=False, fontsize=TICK)
    told = [f"{name}: {_reason(lookups[name], len(prompts[name]))}" for name in names]
    describe(figure, "A row for each prompt; blocks that rows share are framed.", [finding, *told])
    return figure


def _row(axis: Axes, y: int, num_tokens: int, num_hits: int) -> None:
    for start, end, colour, hatch, edge in (
        (0, num_hits, PALE, HATCH, FOUND),
        (num_hits, num_tokens, WORK, "", INK),
    ):
        if end > start:
            look = {"facecolor": colour, "hatch": hatch, "edgecolor": edge, "linewidth": 0.4}
            axis.add_patch(Rectangle((start, y - 0.36), end - start, 0.72, **look))


def _outline(axis: Axes, branch: Branch, block_size: int, longest: int) -> None:
    """A frame around the blocks that several rows share, and their number."""
    if branch.last == branch.first:
        return
    left, width = branch.start * block_size, (branch.end - branch.start) * block_size
    height = branch.last - branch.first + 0.84
    frame = {"facecolor": "none", "edgecolor": INK, "linewidth": 2.5, "zorder": 3}
    axis.add_patch(Rectangle((left, branch.first - 0.42), width, height, **frame))
    num_blocks, rows = branch.end - branch.start, branch.last - branch.first + 1
    words = f"{num_blocks} blocks,\nshared by {rows} prompts"
    if width < 0.3 * longest:
        words = f"{num_blocks}" if width > 0.035 * longest else ""
    paper = {"facecolor": "white", "edgecolor": "none", "pad": 2}
    place = left + width / 2, (branch.first + branch.last) / 2
    look = {"ha": "center", "va": "center", "fontsize": LABEL, "bbox": paper, "zorder": 4}
    if words:
        axis.text(*place, words, **look)


def _reason(lookup: Lookup, num_tokens: int) -> str:
    """Why no more was found, in a few words."""
    miss = lookup.miss
    why = {
        "diverged": f"differs from {miss.other} at token {miss.at:,}",
        "computed now": f"{miss.other} was computing the next block",
        "evicted": f"evicted, {miss.num_blocks_since} evictions ago",
        "partial block": "the rest does not fill a block",
        "never seen": "never seen",
    }
    return f"{lookup.num_hits:,} of {num_tokens:,} found; {why.get(miss.reason, miss.reason)}"


def _blocks(ids: list[int], block_size: int) -> list[Ids]:
    return [tuple(ids[i : i + block_size]) for i in range(0, len(ids) - block_size + 1, block_size)]


def _tree(chains: dict[str, list[Ids]]) -> tuple[list[str], list[Branch]]:
    """Names in an order in which requests that share blocks are neighbours; and the branches."""
    ordered: list[str] = []
    branches: list[Branch] = []

    def walk(group: list[str], start: int) -> None:
        end = start + _num_common([chains[name][start:] for name in group])
        first = len(ordered)
        for children in _by_next(group, chains, end):
            if len(children) == 1 or len(chains[children[0]]) == end:
                ordered.extend(children)
            else:
                walk(children, end)
        if end > start:
            branches.append(Branch(first, len(ordered) - 1, start, end))

    for group in _by_next(list(chains), chains, 0):
        walk(group, 0)
    return ordered, branches


def _by_next(group: list[str], chains: dict[str, list[Ids]], at: int) -> Iterator[list[str]]:
    """Groups of names whose next block is the same, in the order of their first names."""
    parts: dict[Ids | None, list[str]] = {}
    for name in group:
        key = chains[name][at] if at < len(chains[name]) else None
        parts.setdefault(key, []).append(name)
    yield from parts.values()


def _num_common(chains: list[list[Ids]]) -> int:
    same = 0
    for blocks in zip(*chains, strict=False):
        if len(set(blocks)) > 1:
            break
        same += 1
    return same
