"""A thread block, barrier by barrier: where each thread waits, and what shared memory holds.

It is drawn from a report of the kernel lab, so going back costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

import ipywidgets
import numpy as np

from ..kernel_lab.report import Pause, Report
from ..kernel_lab.threads import spans
from .still import WithStill
from .widget_templates import PAGES

MOST_CELLS = 64  # numbers shown of a shared array
MOST_OF_AN_ARRAY = 8  # numbers shown of a thread's own array


class KernelStepper(WithStill):
    """Steps through the thread block that `lab.run(…, watch=(x, y, z))` watched.

    Position 0 is its first barrier.
    """

    def __init__(self, report: Report) -> None:
        if not report.pauses:
            raise ValueError(
                "this report has not recorded a whole thread block; give `watch` to lab.run"
            )
        self.report, self.position = report, 0
        narrow = ipywidgets.Layout(width="7em")
        self.back_button = ipywidgets.Button(
            description="◀ Back", tooltip="to the previous barrier", layout=narrow
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

    @property
    def place(self) -> str:
        """ "barrier 4 of 6", or "the end"."""
        if not self.report.pauses[self.position].threads:
            return "the end"
        return f"barrier {self.position + 1} of {len(self.report.pauses) - 1}"

    def _card(self) -> str:
        pause = self.report.pauses[self.position]
        before = self.report.pauses[self.position - 1] if self.position else None
        _, own = pause.threads.get(self.thread.value, (None, {}))
        return PAGES.get_template("block.html").render(
            where=self.place,
            position=self.position,
            moved=list(_accesses(pause, before)),
            lines=list(self._lines(pause)),
            thread=self.thread.value,
            own={name: _short(value) for name, value in own.items()},
            arrays=[
                (name, values.size, list(_cells(name, values, written, before)))
                for name, (values, written) in pause.shared.items()
            ],
        )

    def _lines(self, pause: Pause) -> Iterator[tuple[str, str, str]]:
        """Which threads wait at which line, with its source."""
        by_site = sorted((site, rank) for rank, (site, _) in pause.threads.items())
        for site, group in groupby(by_site, key=lambda pair: pair[0]):
            line = site.seen_from(self.report.file)
            yield ", ".join(spans([rank for _, rank in group])).replace("-", "–"), line, site.text


def _accesses(pause: Pause, before: Pause | None) -> Iterator[tuple[str, int]]:
    """(array, number of accesses to it since the barrier before), where there are any."""
    for name, total in pause.marks.items():
        number = total - (before.marks.get(name, 0) if before else 0)
        if number:
            yield name, number


class Cell(NamedTuple):
    """One number of a shared array. value: None until it is written."""

    value: str | None
    changed: bool  # since the barrier before


def _cells(
    name: str, values: np.ndarray, written: np.ndarray, before: Pause | None
) -> Iterator[Cell]:
    old, was = before.shared.get(name, (None, None)) if before else (None, None)
    for i in range(min(values.size, MOST_CELLS)):
        if written.flat[i]:
            changed = old is None or not was.flat[i] or old.flat[i] != values.flat[i]
            yield Cell(_short(values.flat[i]), changed)
        else:
            yield Cell(None, False)


def _short(value: object) -> str:
    if value is np.ma.masked:
        return "–"  # not written
    if isinstance(value, np.ndarray):  # a thread's own array
        more = ", …" if value.size > MOST_OF_AN_ARRAY else ""
        return f"[{', '.join(map(_short, value.ravel()[:MOST_OF_AN_ARRAY]))}{more}]"
    return f"{value:.3g}" if isinstance(value, float | np.floating) else str(value)
