"""The same requests in several memories, side by side, step by step: every place of each."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from ..core.request import Request
from ..plots.colours import colour_of, ink_on
from ..simulator.replay import Contiguous, Moment, Paged, replay
from .frame import event_html
from .stepping import Stepping
from .widget_templates import PAGES

WIDTH, LETTER = 1000, 10  # of a strip and of a letter, in pixels
_numbers = itertools.count()  # an id must be unique in the whole page


@dataclass
class Bar:
    """left, width: in pixels. kind: "tokens", "reserved" (filled later), "internal" (never filled),
    "short" (a hole too short for the next request) or "hole". title: a description in words.
    middle: of its text."""

    left: float
    width: float
    kind: str
    colour: str
    ink: str
    text: str
    title: str

    @property
    def middle(self) -> float:
        """Where its text is, so that the whole text is inside the strip."""
        half = LETTER * len(self.text) / 2 + 4
        return min(max(self.left + self.width / 2, half), WIDTH - half)


@dataclass
class Lane:
    """One memory at one step."""

    name: str
    moment: Moment | None
    bars: list[Bar]


class MemoryPlayer(Stepping):
    """A strip for each of `memories`, by name, that all hold the same `requests` in turn
    (`simulator.replay`). Letters: tokens. Hatched: empty, but a request holds it. Cross-hatched: a
    hole that is too short for the next request in the queue.
    """

    def __init__(
        self, memories: Mapping[str, Contiguous | Paged], requests: Iterable[Request]
    ) -> None:
        requests = list(requests)
        self.sizes = {name: memory.num_tokens for name, memory in memories.items()}
        self.runs = {name: replay(requests, memory) for name, memory in memories.items()}
        super().__init__([])
        self.axis.layout.display = "none"  # there are only steps
        self.go_to(0)

    @property
    def last(self) -> int:
        return max(map(len, self.runs.values()))

    @property
    def turns(self) -> list[int]:
        """The positions at which, in one of the memories, a request arrives, leaves or is
        preempted, or begins to wait although enough memory is free."""
        state_of = attrgetter("running", "waiting", "preempted", "waits_though_enough_is_free")
        found = set()
        for run in self.runs.values():
            states = [None, *map(state_of, run)]
            found |= {i for i in range(1, len(states)) if states[i] != states[i - 1]}
        return sorted(found)

    @property
    def can_go_on(self) -> bool:
        return False

    def reach(self, position: int) -> int:
        return min(max(0, position), self.last)

    def show(self) -> None:
        moments = {
            name: run[self.position - 1] if 0 < self.position <= len(run) else None
            for name, run in self.runs.items()
        }
        waits = [n for n, m in moments.items() if m is not None and m.waits_though_enough_is_free]
        words = [
            f"{n}: {moments[n].waiting[0]} waits although enough memory is free." for n in waits
        ]
        title = f"step {self.position:,}" if self.position else "before the first step"
        self.line.value = event_html((title, " ".join(words)))
        lanes = [Lane(n, m, list(_bars(m, self.sizes[n]))) for n, m in moments.items()]
        self.view.value = PAGES.get_template("memory_player.html").render(
            lanes=lanes,
            sizes=self.sizes,
            lengths={name: len(run) for name, run in self.runs.items()},
            position=self.position,
            width=WIDTH,
            number=next(_numbers),
            own={r[0]: colour_of(r[0]) for m in moments.values() if m for r in sorted(m.running)},
        )


def _bars(moment: Moment | None, size: int) -> Iterable[Bar]:
    if moment is None:
        return
    scale = WIDTH / size

    def bar(place: range, kind: str, name: str, title: str) -> Bar:
        width, colour = len(place) * scale, colour_of(name) if name else ""
        text = name if kind == "tokens" else f"{len(place):,}" if kind == "short" else ""
        text = text if width > LETTER * len(text) + (0 if kind == "short" else 6) else ""
        ink = ink_on(colour) if name else ""
        return Bar(round(place.start * scale, 1), round(width, 1), kind, colour, ink, text, title)

    for name, places in _runs(moment):
        place = range(places[0].start, places[-1].stop)
        yield bar(place, "tokens", name, f"{name}: {len(place):,} tokens")
    for stretch in moment.stretches:
        start, name = stretch.place.start, stretch.name
        later = range(start + stretch.tokens, start + stretch.useful)
        never = range(later.stop, stretch.place.stop)
        for kind, place in (("reserved", later), ("internal", never)):
            if place:
                yield bar(place, kind, name, f"{name}: {len(place):,} empty places, {kind}")
    for hole in moment.holes:
        short = len(hole) < moment.fits
        title = f"a hole of {len(hole):,}" + f"; the next request needs {moment.fits:,}" * short
        yield bar(hole, "short" if short else "hole", "", title)


def _runs(moment: Moment) -> list[tuple[str, list[range]]]:
    """The places that hold tokens: those of one request that touch are together."""
    runs: list[tuple[str, list[range]]] = []
    for stretch in sorted(moment.stretches, key=lambda stretch: stretch.place.start):
        start = stretch.place.start
        held = range(start, start + stretch.tokens)
        if not held:
            continue
        if runs and runs[-1][0] == stretch.name and runs[-1][1][-1].stop == start:
            runs[-1][1].append(held)
        else:
            runs.append((stretch.name, [held]))
    return runs
