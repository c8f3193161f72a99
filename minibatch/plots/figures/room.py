"""What a class predicted, and the true number."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..colours import GUESS, INK
from ..guesses import hear, label, mark, written
from ..picture import canvas, describe, dress

COLUMNS = 60  # places for a dot, side by side
MOST_DOTS = 8  # in a stack, before they begin to overlap
NEAR = 0.1  # of the truth: a guess within this distance is near
FAR = 5  # times the truth, or the median guess: guesses beyond are counted, not drawn
LONGEST_NAME = 255  # characters, of a file


def room(
    name: str,
    guesses: str | os.PathLike | Iterable[float],
    truth: float | None = None,
    unit: str = "",
    *,
    ax: Axes | None = None,
) -> Figure:
    """A dot for each guess of a class; figures called with `guess=name` show them as faint ticks.

        mb.room("steps", "250 310 190, 400", truth=320, unit="steps")

    guesses: a text of numbers with spaces, commas or new lines between them; the path of such a
    file; or a list. It may be empty. truth: the true number, drawn as a line. Raises ValueError for
    a word that is not a number, and for "1,300", which may be one number or two.
    """
    numbers = [_number(word) for word in _words(guesses)]
    hear(name, numbers)
    figure, (axis,) = canvas(1, ax, height=2.4)
    finding = _finding(numbers, truth)
    far = FAR * max(abs(median(numbers or [0])), abs(truth or 0)) or math.inf
    drawn = [number for number in numbers if abs(number) <= far]
    if len(drawn) < len(numbers):
        finding += f"; {len(numbers) - len(drawn)} too large to draw"
    _draw(axis, drawn, truth)
    mark(axis, name)
    dress(axis, finding, unit or name)
    axis.spines["left"].set_visible(False)
    describe(figure, "A dot for each guess.", [finding])
    return figure


def _words(guesses: str | os.PathLike | Iterable[float]) -> list[str | float]:
    if isinstance(guesses, os.PathLike):
        guesses = Path(guesses).read_text(encoding="utf-8")
    if not isinstance(guesses, str):
        return list(guesses)
    if len(guesses) <= LONGEST_NAME and Path(guesses).is_file():
        guesses = Path(guesses).read_text(encoding="utf-8")
    return re.sub(r"[,;](?=\s|$)", " ", guesses).split()


def _number(word: str | float) -> float:
    if isinstance(word, str) and re.fullmatch(r"\d[\d.,]*,[\d.,]*\d", word):
        apart = word.replace(",", ", ")
        raise ValueError(
            f'"{word}": one number or several? Write {word.replace(",", "")} or {apart}'
        )
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f'"{word}" is neither a number nor an existing file; give numbers, as in "250 310 '
            '190", or the path of a file, one number a line'
        )
    return int(number) if number.is_integer() else number


def _finding(numbers: list[float], truth: float | None) -> str:
    if not numbers:
        return "No guesses yet"
    many = f"{len(numbers)} guesses, median {written(median(numbers))}"
    if len(numbers) == 1:
        many = f"One guess, {written(numbers[0])}"
    if truth is None:
        return many
    near = sum(abs(number - truth) <= NEAR * abs(truth) for number in numbers)
    return f"{many}; the answer is {written(truth)}, and {near or 'no guess'} came within a tenth"


def _draw(axis: Axes, numbers: list[float], truth: float | None) -> None:
    """A histogram of stacked dots, one for each guess."""
    everything = [*numbers, *([] if truth is None else [truth])] or [0, 1]
    low, high = min(everything), max(everything)
    width = (high - low) / COLUMNS or 1.0
    height: Counter[int] = Counter()
    for number in sorted(numbers):
        column = round((number - low) / width)
        height[column] += 1
        axis.plot(low + column * width, height[column], "o", color=GUESS, markersize=11,
                  markeredgecolor="white")  # fmt: skip
    axis.set_xlim(low - 2 * width, high + 2 * width)
    axis.set_ylim(0, max([MOST_DOTS, *height.values()]) + 1.5)
    axis.set_yticks([])
    if truth is not None:
        axis.axvline(truth, color=INK, linewidth=2.5, zorder=1)
        label(axis, truth, f"the answer is {written(truth)}")
