"""A thread block, barrier by barrier: where each thread waits, and what shared memory holds.

Drawn from a report of the kernel lab, so going back costs nothing. Every control is a native one.
"""

from __future__ import annotations

import html
from itertools import groupby

import ipywidgets
import numpy as np

from ..kernel_lab.report import Pause, Report
from .frame import CARD, CELL, HATCH
from .still import WithStill

MOST_CELLS = 64  # of a shared array shown
HEAD = "background: #eee; font-weight: normal"
SMALL = "padding: 1px 4px; text-align: right; font-size: 12px; border: 1px solid #bbb"


class KernelStepper(WithStill):
    """Of the block that `lab.run(…, watch=(x, y, z))` watched; position 0 is its first barrier."""

    def __init__(self, report: Report) -> None:
        if not report.pauses:
            raise ValueError("this report watched no block to its end; see `watch` of lab.run")
        self.report, self.position = report, 0
        narrow = ipywidgets.Layout(width="7em")
        self.back_button = ipywidgets.Button(
            description="◀ Back", tooltip="to the barrier before", layout=narrow
        )
        self.step_button = ipywidgets.Button(
            description="Step ▶", tooltip="to the next barrier", layout=narrow
        )
        ranks = sorted({rank for pause in report.pauses for rank in pause.threads})
        self.thread = ipywidgets.Dropdown(
            options=ranks or [0],
            description="thread",
            layout=ipywidgets.Layout(width="11em"),
            style={"description_width": "4em"},
        )
        self.back_button.on_click(lambda _: self.go_to(self.position - 1))
        self.step_button.on_click(lambda _: self.go_to(self.position + 1))
        self.thread.observe(lambda _: self.go_to(self.position), "value")
        super().__init__([self.back_button, self.step_button, self.thread])
        self.go_to(0)

    def go_to(self, position: int) -> None:
        """Show the block at that barrier, or at its end."""
        last = len(self.report.pauses) - 1
        self.position = min(max(0, position), last)
        self.back_button.disabled, self.step_button.disabled = position <= 0, position >= last
        self.view.value = self._card()

    def _card(self) -> str:
        pause, report = self.report.pauses[self.position], self.report
        barriers = len(report.pauses) - 1
        where = f"barrier {self.position + 1} of {barriers}" if pause.threads else "the end"
        before = report.pauses[self.position - 1] if self.position else None
        arrays = "".join(_array(name, *held, before) for name, held in pause.shared.items())
        told = html.escape(_moved(pause, before))
        return (
            f'<div role="status" style="{CARD}"><p style="margin: 0 0 0.4em"><b>{where}</b> · '
            f"{told}</p>{self._lines(pause)}{self._own(pause)}{arrays}"
            "<p style='margin: 0.4em 0 0; font-size: 12px'>hatched: not written yet · "
            "bold: changed since the barrier before</p></div>"
        )

    def _lines(self, pause: Pause) -> str:
        """Which threads wait where, with the source of the line."""
        rows = []
        by_line = sorted((line, rank) for rank, (line, _) in pause.threads.items())
        for line, group in groupby(by_line, key=lambda pair: pair[0]):
            ranks = [rank for _, rank in group]
            source = html.escape(self.report.source.get(line, "").strip())
            rows.append(
                f'<tr><td style="{CELL}">{_spans(ranks)}</td><td style="{CELL}">line {line}</td>'
                f'<td style="{CELL}"><code>{source}</code></td></tr>'
            )
        if not rows:
            return "<p style='margin: 0'>Every thread has returned.</p>"
        head = "".join(
            f'<th scope="col" style="{CELL}">{name}</th>'
            for name in ("threads", "wait in", "which is")
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"

    def _own(self, pause: Pause) -> str:
        _, numbers = pause.threads.get(self.thread.value, (0, {}))
        shown = ", ".join(f"{name} = {_short(value)}" for name, value in numbers.items())
        return f"<p><b>thread {self.thread.value}</b>: {html.escape(shown) or '–'}</p>"


def _moved(pause: Pause, before: Pause | None) -> str:
    """How many accesses each array has seen since the barrier before."""
    since = {
        name: n - (before.marks.get(name, 0) if before else 0) for name, n in pause.marks.items()
    }
    told = [f"{name} {n:,}" for name, n in since.items() if n]
    return "accesses since: " + (", ".join(told) or "none")


def _array(name: str, values: np.ndarray, written: np.ndarray, before: Pause | None) -> str:
    old, was = before.shared.get(name, (None, None)) if before else (None, None)
    flat, cells = values.reshape(-1), []
    for i in range(min(flat.size, MOST_CELLS)):
        if not written.reshape(-1)[i]:
            cells.append(f'<td style="{SMALL}; {HATCH}" title="not written"> </td>')
            continue
        changed = old is None or not was.reshape(-1)[i] or old.reshape(-1)[i] != flat[i]
        weight = "font-weight: bold" if changed else ""
        cells.append(f'<td style="{SMALL}; {weight}">{_short(flat[i])}</td>')
    number = f'<th scope="row" style="{SMALL}; {HEAD}">'
    rows = "".join(
        f"<tr>{number}{start}</th>{''.join(cells[start : start + 16])}</tr>"
        for start in range(0, len(cells), 16)
    )
    more = f" (the first {MOST_CELLS} of {flat.size})" if flat.size > MOST_CELLS else ""
    caption = (
        f'<caption style="text-align: left"><b>{html.escape(name)}</b>, shared{more}</caption>'
    )
    return f'<table style="border-collapse: collapse; margin-top: 0.5em">{caption}{rows}</table>'


def _short(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)


def _spans(ranks: list[int]) -> str:
    """0, 1, 2 and 5 as "0–2, 5"."""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and spans[-1][1] == rank - 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in spans)
