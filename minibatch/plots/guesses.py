"""What you said before you looked: kept for the run, drawn into the figure that answers.

`mb.predict` asks and calls `keep`; a figure calls `mark` and `said`. A question that was skipped
has no guess, and is neither drawn nor spoken of.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes

from .colours import GUESS, INK

Curve = list[tuple[float, float]]
_guesses: dict[str, float | Curve] = {}


def keep(name: str, value: float | Sequence[tuple[float, float]]) -> None:
    """Remember a guess: a number, or a curve as (x, y) points. The newest of a name counts."""
    _guesses[name] = value if isinstance(value, int | float) else [tuple(p) for p in value]


def guess(name: str) -> float | Curve | None:
    """What was said to the question `name`; None if it was skipped."""
    return _guesses.get(name)


def forget(name: str | None = None) -> None:
    """Drop one guess, or all."""
    _guesses.clear() if name is None else _guesses.pop(name, None)


def said(name: str | None, words: str = "{:,.4g}") -> str:
    """ "; you said 250" for a title, or "" if nothing was said. words: a format of the number."""
    value = guess(name) if name else None
    return "" if not isinstance(value, int | float) else f"; you said {words.format(value)}"


def mark(axis: Axes, name: str | None, along: str = "x") -> None:
    """Draw the guess into `axis`: a number as a dashed line across the axis `along`, labelled "you
    said 250"; a curve as a dashed curve. Nothing if the question was skipped."""
    value = guess(name) if name else None
    if value is None:
        return
    look = {"color": GUESS, "linestyle": (0, (4, 3)), "linewidth": 2.5, "zorder": 5}
    if isinstance(value, list):
        axis.plot(*zip(*value, strict=True), **look, label="you said")
        return
    line, at = (axis.axvline, (value, 0.98)) if along == "x" else (axis.axhline, (0.99, value))
    line(value, **look)
    transform = axis.get_xaxis_transform() if along == "x" else axis.get_yaxis_transform()
    label = {"ha": "left", "va": "top"} if along == "x" else {"ha": "right", "va": "bottom"}
    box = {"facecolor": "white", "edgecolor": GUESS, "boxstyle": "round,pad=0.25"}
    axis.text(*at, f"you said {value:,.4g}", transform=transform, **label, fontsize=12,
              color=INK, bbox=box, zorder=6)  # fmt: skip
