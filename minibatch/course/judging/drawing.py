"""Two step plans, one over the other, with the first step that differs: as text, and as a picture.

Plain data, so that it can travel in a report. A cell is what a request did in a step: "P" prefill,
"d" decode, "·" padding, "w" waiting, " " not there.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from minibatch.core.records import StepRecord

PREFILL, DECODE, PADDING, WAITING, AWAY = "P", "d", "·", "w", " "
MEANINGS = {PREFILL: "prompt", DECODE: "decode", PADDING: "padding", WAITING: "waiting"}
LEGEND = ", ".join(f"{letter} {meaning}" for letter, meaning in MEANINGS.items())
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
        return "\n".join([*lines, f"  ({LEGEND})"])

    def as_svg(self) -> str:
        """For a notebook or a report: the same, drawn, with the letters in the cells."""
        height = _TOP + _CELL * len(self.names) + 16  # of one grid
        width = _LEFT + _CELL * len(self.expected[0]) + 10
        grids = self._grid("expected", self.expected, 0) + self._grid("yours", self.got, height)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {2 * height}" '
            f'width="{width}" height="{2 * height}" role="img" '
            f'aria-label="The plans differ first in step {self.differs}." '
            'font-family="sans-serif" font-size="12" fill="currentColor">'
            f"{''.join(grids)}</svg>"
        )

    def _grid(self, title: str, rows: list[str], y: int) -> list[str]:
        """One of the two, from `y` on, the step that differs in a dashed frame."""
        parts = [f'<text x="2" y="{y + 14}" font-weight="bold">{title}</text>']
        for i in range(len(rows[0])):
            parts.append(_text(_LEFT + i * _CELL, y + 14, str(self.first + i)))
        for line, (name, row) in enumerate(zip(self.names, rows, strict=True)):
            top = y + _TOP + line * _CELL
            parts.append(f'<text x="2" y="{top + 15}">{html.escape(name)}</text>')
            for i, letter in enumerate(row):
                x, side = _LEFT + i * _CELL, _CELL - 2
                box = f'x="{x}" y="{top}" width="{side}" height="{side}"'
                parts.append(f'<rect {box} fill="{_FILLS[letter]}" stroke="#666"/>')
                parts.append(_text(x, top + 15, letter, "#000"))
        x = _LEFT + (self.differs - self.first) * _CELL - 2
        box = f'x="{x}" y="{y + 2}" width="{_CELL + 2}" height="{_TOP + _CELL * len(rows)}"'
        frame = 'fill="none" stroke="#D55E00" stroke-width="3" stroke-dasharray="5 2"'
        return [*parts, f"<rect {box} {frame}/>"]


_CELL, _LEFT, _TOP = 22, 70, 22  # pixels
_FILLS = {
    PREFILL: "#56B4E9",
    DECODE: "#A6DCC8",
    PADDING: "#D9D9D9",
    WAITING: "#FFF3C4",
    AWAY: "#FFFFFF",
}


def _text(x: int, y: int, content: str, ink: str = "currentColor") -> str:
    """In the middle of the cell that begins at `x`."""
    where = f'x="{x + _CELL / 2 - 1}" y="{y}" text-anchor="middle" font-size="11"'
    return f'<text {where} fill="{ink}">{content}</text>'


def first_difference(
    expected: Sequence[StepRecord], got: Sequence[StepRecord]
) -> tuple[int, Drawing] | None:
    """Number (from 1) of the first step whose rows differ, order aside, and a drawing around it."""
    for number in range(1, max(len(expected), len(got)) + 1):
        steps = [run[number - 1] if number <= len(run) else None for run in (expected, got)]
        if None in steps or _rows(steps[0]) != _rows(steps[1]):
            return number, draw(expected, got, number)
    return None


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
