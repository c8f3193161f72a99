"""The same requests in several memories, side by side, step by step: every place of each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter

from ..core.request import Request
from ..plots.colours import UNFILLED
from ..simulator.replay import Contiguous, Moment, Paged, replay
from .frame import event_html
from .stepping import Stepping
from .widget_templates import PAGES

WIDTH, HEIGHT, LETTER = 1000, 50, 10  # of a strip and of a letter, in pixels
COLUMNS, ROW = 32, 20  # blocks in a row of a grid, and its height


@dataclass
class Bar:
    """left, top, width, height: in pixels. kind: "tokens", "reserved" (filled later), "internal"
    (never filled), "short" (a hole too short for the next request) or "hole". text: in its middle.
    title: a description in words."""

    left: float
    top: int
    width: float
    height: int
    kind: str
    text: str
    title: str


@dataclass
class Lane:
    """One memory at one step."""

    name: str
    moment: Moment | None
    height: int
    bars: list[Bar]


class MemoryPlayer(Stepping):
    """A strip for each of `memories`, by name, that all hold the same `requests` in turn
    (`simulator.replay`); a grid of blocks if the memory has blocks. Blue: tokens. Grey: empty, but
    a request holds it. Vermillion: a hole that is too short for the next request in the queue.
    """

    def __init__(
        self, memories: Mapping[str, Contiguous | Paged], requests: Iterable[Request]
    ) -> None:
        requests = list(requests)
        self.block_sizes = {
            name: memory.pool.block_size
            for name, memory in memories.items()
            if isinstance(memory, Paged)
        }
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
        words = [
            f"{n}: {m.waiting[0]} waits although enough memory is free. It needs {m.needs:,} places"
            f" in one piece; the holes have {', '.join(f'{len(hole):,}' for hole in m.holes)}."
            for n, m in moments.items()
            if m is not None and m.waits_though_enough_is_free
        ]
        title = f"step {self.position:,}" if self.position else "before the first step"
        self.line.value = event_html((title, " ".join(words)))
        lanes = []
        for name, moment in moments.items():
            size, block_size = self.sizes[name], self.block_sizes.get(name)
            height = ROW * -(-size // (COLUMNS * block_size)) if block_size else HEIGHT
            bars = _cells(moment, block_size) if block_size else _bars(moment, size)
            lanes.append(Lane(name, moment, height, list(bars)))
        self.view.value = PAGES.get_template("memory_player.html").render(
            lanes=lanes,
            sizes=self.sizes,
            lengths={name: len(run) for name, run in self.runs.items()},
            position=self.position,
            width=WIDTH,
            UNFILLED=UNFILLED,
        )


def _bars(moment: Moment | None, size: int) -> Iterator[Bar]:
    """One strip: the places of the memory from left to right."""
    scale = WIDTH / size
    for place, kind, name, title in _parts(moment):
        width = len(place) * scale
        text = name if kind == "tokens" and width > LETTER * len(name) + 6 else ""
        yield Bar(round(place.start * scale, 1), 0, round(width, 1), HEIGHT, kind, text, title)


def _cells(moment: Moment | None, block_size: int) -> Iterator[Bar]:
    """A grid: a cell for each block that a request holds, with as much blue as it has tokens."""
    cell = WIDTH / COLUMNS
    for place, kind, _, title in _parts(moment):
        if kind in ("hole", "short"):
            continue
        block, offset = divmod(place.start, block_size)
        left = (block % COLUMNS + offset / block_size) * cell
        width = len(place) / block_size * cell
        top = block // COLUMNS * ROW
        yield Bar(round(left, 1), top, round(width, 1), ROW, kind, "", title)


def _parts(moment: Moment | None) -> Iterator[tuple[range, str, str, str]]:
    """Places of the memory with one use: the places, their kind, the holder, and a description."""
    if moment is None:
        return
    for stretch in moment.stretches:
        start, name = stretch.place.start, stretch.name
        filled = range(start, start + stretch.tokens)
        later = range(filled.stop, start + stretch.useful)
        never = range(later.stop, stretch.place.stop)
        for kind, place in (("tokens", filled), ("reserved", later), ("internal", never)):
            what = "tokens" if kind == "tokens" else f"empty places, {kind}"
            if place:
                yield place, kind, name, f"{name}: {len(place):,} {what}"
    for hole in moment.holes:
        short = len(hole) < moment.fits
        title = f"a hole of {len(hole):,}" + f"; the next request needs {moment.fits:,}" * short
        yield hole, "short" if short else "hole", "", title
