"""The picture to share: one workload under two policies, the same tokens, and the rows in vain."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...engine.trace import Trace
from ..colours import FADED, HATCHES, INK, WASTE, WORK
from ..picture import canvas, describe

NAME, NUMBER, FLAG = 17, 22, 19  # points: to be read as a thumbnail


def same_answers(
    static: Trace,
    continuous: Trace,
    *,
    names: tuple[str, str] = ("static", "continuous"),
    ax: list[Axes] | None = None,
) -> Figure:
    """Rows of each step under two policies, both on one scale: equal areas are equal work.

    Raises ValueError if they did not yield the same number of tokens: then the areas say nothing.
    """
    tokens, others = (_tokens(trace) for trace in (static, continuous))
    if tokens != others:
        raise ValueError(
            f"{tokens:,} tokens in one run and {others:,} in the other; serve the same"
        )
    figure, axes = canvas(2, ax, height=2.3)
    longest = max(len(static.steps), len(continuous.steps))
    for axis, trace, name in zip(axes, (static, continuous), names, strict=True):
        _draw(axis, trace, name, longest)
    wasted = _padding(static)
    title = f"Same answers. {wasted:,} rows nobody reads."
    axes[0].set_title(title, loc="left", fontsize=30, fontweight="bold", color=INK, pad=14)
    steps = f"{names[0]} in {len(static.steps):,} steps, {names[1]} in {len(continuous.steps):,}"
    describe(figure, title, [f"Both give {tokens:,} tokens: {steps}"])
    return figure


def _tokens(trace: Trace) -> int:
    return sum(step.num_output_tokens for step in trace.steps)


def _padding(trace: Trace) -> int:
    return sum(len(step.rows) - step.num_output_tokens for step in trace.steps)


def _draw(axis: Axes, trace: Trace, name: str, longest: int) -> None:
    end = len(trace.steps)
    edges = list(range(end + 1))
    useful = [step.num_output_tokens for step in trace.steps]
    rows = [len(step.rows) for step in trace.steps]
    axis.stairs(useful, edges, fill=True, color=WORK)
    if _padding(trace):
        look = {"facecolor": WASTE, "edgecolor": FADED, "hatch": HATCHES["padding"]}
        axis.stairs(rows, edges, baseline=useful, fill=True, linewidth=0, **look)
        tooth = _burnt(useful, rows, trace.max_batch_size)
        _number(axis, tooth, 0.72, f"{_padding(trace):,}", facecolor="white", edgecolor=WASTE)
    _number(axis, 0.155 * longest, 0.15, f"{sum(useful):,} tokens", facecolor=WORK, edgecolor=INK)
    axis.plot([end, end], [0, 1.12 * trace.max_batch_size], color=INK, linewidth=3)
    _flag(axis, end, longest, f"{end:,} steps")
    axis.set_ylim(0, 1.15 * trace.max_batch_size)
    axis.set_xlim(0, 1.02 * longest)
    axis.set_xticks([])
    axis.set_yticks([])
    axis.set_ylabel(name, fontsize=NAME, color=INK, fontweight="bold")
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)


def _burnt(useful: list[int], rows: list[int], size: int) -> float:
    """A place in the middle of the waste, and of one of its teeth."""
    wide = [i for i, (n, m) in enumerate(zip(useful, rows, strict=True)) if m == size > n + 1]
    middle = min(wide, key=lambda i: abs(i - len(rows) / 2))
    left = right = middle
    while left - 1 in wide:
        left -= 1
    while right + 1 in wide:
        right += 1
    return (left + right) / 2


def _number(axis: Axes, x: float, height: float, text: str, **box: str) -> None:
    box = {"boxstyle": "round,pad=0.25", "linewidth": 2, **box}
    axis.text(x, height, text, transform=axis.get_xaxis_transform(), ha="center", va="center",
              fontsize=NUMBER, fontweight="bold", color=INK, bbox=box)  # fmt: skip


def _flag(axis: Axes, end: int, longest: int, text: str) -> None:
    """Beside the pole, on the side where there is room."""
    right = end < 0.75 * longest
    box = {"facecolor": INK, "edgecolor": INK, "boxstyle": "square,pad=0.3"}
    look = {"ha": "left" if right else "right", "va": "top", "fontsize": FLAG, "color": "white"}
    axis.text(end, 0.98, text, transform=axis.get_xaxis_transform(), bbox=box, **look)
