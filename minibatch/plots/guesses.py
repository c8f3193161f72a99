"""Predictions: kept by name until the kernel ends, and drawn into the figure that answers.

`mb.predict` and `mb.predict_curve` ask the question and call `keep`. `mb.room` calls `hear` with
the predictions of a class. A figure calls `mark` and `said`. A skipped question has no guess:
figures draw nothing for it, and their titles do not mention it.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import TYPE_CHECKING

from .colours import GUESS, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curve = list[tuple[float, float]]

LOOK = {"color": GUESS, "linestyle": (0, (4, 3)), "linewidth": 2.5, "zorder": 5}
PAPER = {"facecolor": "white", "edgecolor": GUESS, "boxstyle": "round,pad=0.25"}
BOX = {"fontsize": 14, "color": INK, "bbox": PAPER, "zorder": 6}

_guesses: dict[str, float | Curve] = {}
_rooms: dict[str, list[float]] = {}


def keep(name: str, value: float | Sequence[tuple[float, float]]) -> None:
    """Remember a guess: a number, or a curve as (x, y) points. It replaces an earlier one."""
    _guesses[name] = value if isinstance(value, Real) else [tuple(p) for p in value]


def guess(name: str) -> float | Curve | None:
    """The guess for the question `name`; None if the question was skipped."""
    return _guesses.get(name)


def hear(name: str, numbers: Sequence[float]) -> None:
    """Remember the guesses of a class for the question `name`."""
    _rooms[name] = list(numbers)


def heard(name: str) -> list[float]:
    """The guesses of the class for the question `name`; empty if there are none."""
    return _rooms.get(name, [])


def forget(name: str | None = None) -> None:
    """Drop the guesses for one question, or for all; the guesses of the class too."""
    for kept in (_guesses, _rooms):
        kept.clear() if name is None else kept.pop(name, None)


def written(number: float) -> str:
    """ "250", "12,345", "0.053": a whole or large number in full, others to three digits."""
    whole = number == round(number) or abs(number) >= 1000
    return f"{number:,.0f}" if whole else f"{number:,.3g}"


def said(name: str | None, words: str = "") -> str:
    """ "; your guess: 250" for a title, or "" without a guess. words: a format of the number."""
    value = guess(name) if name else None
    if not isinstance(value, Real):
        return ""
    return f"; your guess: {words.format(value) if words else written(value)}"


def mark(axis: Axes, name: str | None, along: str = "x", start: float = 0) -> None:
    """Draw into `axis` the guess for the question `name`; nothing if it was skipped.

    A number is a dashed line at its place `along` "x" or "y", labelled "your guess: 250". A curve
    is a dashed curve. The guesses of the class are a row of faint ticks. Call this last: it extends
    an axis that is too short for the guess, and leaves out ticks beyond the ends. start: the place
    on the axis from which the number counts.
    """
    value = guess(name) if name else None
    if isinstance(value, list):
        _draw_curve(axis, value)
    elif value is not None:
        _extend_axis(axis, along, [start + value])
        label(axis, start + value, f"your guess: {written(value)}", along)
        (axis.axvline if along == "x" else axis.axhline)(start + value, **LOOK)
    if name and heard(name):
        _draw_ticks(axis, [start + number for number in heard(name)], along)


def label(axis: Axes, value: float, words: str, along: str = "x") -> None:
    """Write `words` beside the place `value` of the axis `along`, on the side where there is room.

    At the axes' upper edge, or at the right one."""
    middle = sum(axis.get_xlim() if along == "x" else axis.get_ylim()) / 2
    far, aside = value > middle, 6 * (-1 if value > middle else 1)
    if along == "x":
        place, at = (value, 0.98), axis.get_xaxis_transform()
        look = {"xytext": (aside, 0), "ha": "right" if far else "left", "va": "top"}
    else:
        place, at = (1, value), axis.get_yaxis_transform()
        look = {"xytext": (0, aside), "ha": "right", "va": "top" if far else "bottom"}
    axis.annotate(words, place, xycoords=at, textcoords="offset points", **look, **BOX)


def _draw_curve(axis: Axes, points: Curve) -> None:
    xs, ys = zip(*points, strict=True)
    _extend_axis(axis, "x", xs)
    _extend_axis(axis, "y", ys)
    axis.plot(xs, ys, **LOOK, label="your guess", scalex=False, scaley=False)
    far = ys[-1] > sum(axis.get_ylim()) / 2
    look = {"xytext": (0, -12 if far else 12), "ha": "right", "va": "top" if far else "bottom"}
    axis.annotate("your guess", points[-1], textcoords="offset points", **look, **BOX)


def _draw_ticks(axis: Axes, numbers: list[float], along: str) -> None:
    edge = [0.0] * len(numbers)
    look = {"color": GUESS, "alpha": 0.45, "linestyle": "", "markersize": 18, "zorder": 4}
    if along == "x":
        at = axis.get_xaxis_transform()
        axis.plot(numbers, edge, marker="|", transform=at, scalex=False, **look)
    else:
        at = axis.get_yaxis_transform()
        axis.plot(edge, numbers, marker="_", transform=at, scaley=False, **look)
    words = {"fontsize": 13, "color": GUESS, "ha": "right", "va": "top"}
    axis.annotate(f"ticks: the {len(numbers)} guesses in the room", (1, 0), (0, -24), **words,
                  xycoords="axes fraction", textcoords="offset points")  # fmt: skip


def _extend_axis(axis: Axes, along: str, values: Sequence[float]) -> None:
    """Extend the axis so that it shows these values."""
    get, put = (axis.get_xlim, axis.set_xlim) if along == "x" else (axis.get_ylim, axis.set_ylim)
    first, last = get()
    low, high = sorted((first, last))
    margin = 0.04 * (high - low)
    least = low if min(values) >= low else min(values) - margin
    most = high if max(values) <= high else max(values) + margin
    if (least, most) != (low, high):
        put(*((least, most) if first < last else (most, least)))
