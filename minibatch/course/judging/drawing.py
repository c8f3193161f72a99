"""Two step plans, one over the other, with the first step that differs: as text, and as a picture.

Plain data, so that it can travel in a report. A cell is what a request did in a step: "P" prefill,
"d" decode, "·" padding, "w" waiting, " " not there.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from minibatch.records import StepRecord

PREFILL, DECODE, PADDING, WAITING, AWAY = "P", "d", "·", "w", " "
MEANINGS = {PREFILL: "prompt", DECODE: "decode", PADDING: "padding", WAITING: "waiting"}
_LETTERS = {"prefill": PREFILL, "decode": DECODE, "padding": PADDING}
_SHOWN = 12  # steps


@dataclass(frozen=True, slots=True)
class Drawing:
    """names: requests, a line each. expected, got: for each, a string with a letter per step.

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
        for title, rows in (("expected", self.expected), ("yours", self.got)):
            lines.append(f"{title}, steps {self.first} to {self.first + len(rows[0]) - 1}")
            lines += [
                f"  {name:<{width}}  {' '.join(row)}"
                for name, row in zip(self.names, rows, strict=True)
            ]
            lines.append(f"  {'':<{width}}  {'  ' * column}^ step {self.differs}")
        meanings = ", ".join(f"{letter} {meaning}" for letter, meaning in MEANINGS.items())
        return "\n".join([*lines, f"  ({meanings})"])

    def as_svg(self) -> str:
        """For a notebook or a report: the same, drawn; letters in the cells, so no colour needed."""
        cell, left, top = 22, 70, 22
        height_of_one = top + cell * len(self.names) + 16
        columns = len(self.expected[0])
        width, height = left + columns * cell + 10, 2 * height_of_one
        parts = []
        for index, (title, rows) in enumerate((("expected", self.expected), ("yours", self.got))):
            y = index * height_of_one
            parts.append(f'<text x="2" y="{y + 14}" font-weight="bold">{title}</text>')
            parts += [
                f'<text x="{left + i * cell + cell / 2}" y="{y + 14}" text-anchor="middle" '
                f'font-size="10">{self.first + i}</text>'
                for i in range(columns)
            ]
            for line, (name, row) in enumerate(zip(self.names, rows, strict=True)):
                at = y + top + line * cell
                parts.append(f'<text x="2" y="{at + 15}">{html.escape(name)}</text>')
                parts += [
                    f'<rect x="{left + i * cell}" y="{at}" width="{cell - 2}" height="{cell - 2}" '
                    f'fill="{_FILLS[letter]}" stroke="#666"/>'
                    f'<text x="{left + i * cell + cell / 2 - 1}" y="{at + 15}" fill="#000" '
                    f'text-anchor="middle">{letter}</text>'
                    for i, letter in enumerate(row)
                ]
            column = left + (self.differs - self.first) * cell
            parts.append(
                f'<rect x="{column - 2}" y="{y + 2}" width="{cell + 2}" '
                f'height="{top + cell * len(self.names) - 2}" fill="none" stroke="#D55E00" '
                'stroke-width="3" stroke-dasharray="5 2"/>'
            )
        alt = f"Expected and your plan differ first in step {self.differs}."
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}" role="img" aria-label="{alt}" '
            'font-family="sans-serif" font-size="12" fill="currentColor">'
            f"{''.join(parts)}</svg>"
        )


_FILLS = {
    PREFILL: "#56B4E9",
    DECODE: "#A6DCC8",
    PADDING: "#D9D9D9",
    WAITING: "#FFF3C4",
    AWAY: "#FFF",
}


def first_difference(
    expected: Sequence[StepRecord], got: Sequence[StepRecord]
) -> tuple[int, Drawing] | None:
    """Number (from 1) of the first step whose rows differ, order aside, and a drawing up to it."""
    pairs = [*zip(expected, got, strict=False)]
    number = next((n for n, (a, b) in enumerate(pairs, 1) if _rows(a) != _rows(b)), None)
    if number is None:
        if len(expected) == len(got):
            return None
        number = len(pairs) + 1
    return number, draw(expected, got, number)


def draw(expected: Sequence[StepRecord], got: Sequence[StepRecord], differs: int) -> Drawing:
    """Both, from some steps before `differs` (from 1) to a few after it."""
    first = max(1, differs - _SHOWN + 4)
    last = min(first + _SHOWN - 1, max(len(expected), len(got)))
    shown = [steps[first - 1 : last] for steps in (expected, got)]
    seen = {row.request_id for steps in shown for step in steps for row in step.rows}
    seen |= {name for steps in shown for step in steps for name in step.waiting}
    names = sorted(seen)[:12]
    grids = [
        ["".join(_letter(step, name) for step in steps).ljust(last - first + 1) for name in names]
        for steps in shown
    ]
    return Drawing(names, *grids, first, differs)


def _rows(step: StepRecord) -> list[tuple[str, int, int]]:
    return sorted((row.request_id, row.num_tokens, row.num_padding_tokens) for row in step.rows)


def _letter(step: StepRecord, name: str) -> str:
    for row in step.rows:
        if row.request_id == name:
            return _LETTERS[row.kind]
    return WAITING if name in step.waiting else AWAY
