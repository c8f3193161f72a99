"""Two step plans, one above the other, with the first step that differs: as text and as a picture.

It is plain data, so that it can be part of a report. A cell is a request's state in a step: "P"
prefill, "d" decode, "·" padding, "w" waiting, " " absent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from minibatch.core.records import StepRecord
from minibatch.course.judging.block_map import BlockMap
from minibatch.plots import svg
from minibatch.plots.spans import first_difference, kinds

LEGEND = ", ".join(f"{letter} {meaning}" for letter, meaning in svg.MEANINGS.items())
_SHOWN = 12  # steps, and requests


@dataclass(frozen=True, slots=True)
class Drawing:
    """names: requests, a line each. expected, got: for each, a string with a letter for each step.

    first: number of the first step shown, from 1; differs: of the first that differs.
    """

    names: list[str]
    expected: list[str]
    got: list[str]
    first: int
    differs: int

    def as_text(self) -> str:
        """For a terminal: two grids and a mark under the step that differs."""
        width = max(len(name) for name in self.names)
        column = self.differs - self.first
        lines = []
        for title, rows in self._grids().items():
            lines.append(f"{title}, steps {self.first} to {self.first + len(rows[0]) - 1}")
            lines += [
                f"  {name:<{width}}  {' '.join(row)}"
                for name, row in zip(self.names, rows, strict=True)
            ]
            lines.append(f"  {'':<{width}}  {'  ' * column}^ step {self.differs}")
        return "\n".join([*lines, f"  ({LEGEND})"])

    def as_svg(self) -> str:
        """For a notebook or a report: the same as a picture, with the letters in the cells."""
        alt = f"The plans differ first in step {self.differs}."
        return svg.grid(self._grids(), self.names, self.first, self.differs, alt)

    def as_html(self) -> Markup:
        """The picture, and the meaning of the letters."""
        return Markup("{}<br><small>{}</small>").format(self.as_svg(), LEGEND)

    def _grids(self) -> dict[str, list[str]]:
        return {"expected": self.expected, "yours": self.got}


def difference(expected: Sequence[StepRecord], got: Sequence[StepRecord]) -> Drawing | None:
    """A drawing around the first step with different rows, in any order; None if all agree."""
    index = first_difference(expected, got)
    return None if index is None else draw(expected, got, index + 1)


def draw(expected: Sequence[StepRecord], got: Sequence[StepRecord], differs: int) -> Drawing:
    """A drawing from some steps before `differs` (from 1) to a few after it."""
    first = max(1, differs - _SHOWN + 4)
    last = min(first + _SHOWN - 1, max(len(expected), len(got)))
    shown = [[kinds(step) for step in steps[first - 1 : last]] for steps in (expected, got)]
    names = sorted({name for steps in shown for step in steps for name in step})[:_SHOWN]
    for steps in shown:
        steps += [{}] * (last - first + 1 - len(steps))  # one run may have ended before the other
    grids = [
        ["".join(svg.LETTERS.get(step.get(name), svg.AWAY) for step in steps) for name in names]
        for steps in shown
    ]
    return Drawing(names, *grids, first, differs)


def restored(data: dict) -> Drawing | BlockMap:
    """The drawing or map made from plain data of a report."""
    return (Drawing if "differs" in data else BlockMap)(**data)
