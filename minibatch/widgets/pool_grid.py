"""A pool at one step as a grid, block by block, beside the slots. It is drawn from films only."""

from __future__ import annotations

from dataclasses import dataclass

from ..plots.colours import colour_of, ink_on
from .frame import event, event_html, slots_html, waiting_at
from .pool_film import PoolFilm, PoolFrame
from .run_film import Film
from .widget_templates import PAGES, count

NO_REQUEST = "nobody"
SLOT = "batch slot"  # beside a pool, whose slots are places of tokens
SHOWN = 24  # entries of a block table that are listed
SMALLEST = 13  # size of a letter, in pixels


@dataclass
class Part:
    """One holder's part of a block's cell: coloured if it is full of K and V, else with a bar at
    the bottom that shows how full.

    ink: the colour of its letter; "": the page's own, where the part is not full."""

    left: float
    width: float
    filled: float
    full: bool
    colour: str
    letter: str
    size: float
    ink: str


@dataclass
class Cell:
    """One block in the grid. text: in its middle, if the parts are too small for letters.
    kept: the block is free, and its content is still there."""

    x: float
    y: float
    parts: list[Part]
    text: str
    title: str
    kept: bool
    known: bool
    dim: bool


class Grid:
    """The size of the cells, in pixels of a picture that is WIDTH wide."""

    WIDTH, HIGHEST, CELL = 720, 360, 44
    MARGIN = 34  # at the left: the number of each row's first block

    def __init__(self, num_blocks: int) -> None:
        fits = (n for n in (8, 16, 24, 32, 48) if num_blocks <= 0.75 * n * n)
        self.columns = min(next(fits, 64), num_blocks)
        self.rows = -(-num_blocks // self.columns)
        self.width = self.WIDTH / self.columns
        self.height = round(min(self.width, self.CELL, self.HIGHEST / self.rows), 2)
        self.letter = max(16, min(20, self.height / 2))

    def corner(self, i: int) -> tuple[float, float]:
        return round(i % self.columns * self.width, 1), round(i // self.columns * self.height, 1)

    def letter_in(self, text: str, width: float) -> float:
        """The font size of `text` in `width` pixels; 0 if it would be too small to read."""
        size = min(self.letter, width / (0.15 + 0.6 * len(text)))
        return round(size, 1) if size >= SMALLEST and self.height > SMALLEST else 0


class PoolGrid:
    """The frame `position` of both films, with the table of the request `walk` as a path, and the
    block `chosen` described in words."""

    def __init__(
        self,
        film: Film,
        pool_film: PoolFilm,
        position: int,
        walk: str = NO_REQUEST,
        chosen: int = 0,
    ) -> None:
        self.film, self.position, self.walk, self.chosen = film, position, walk, chosen
        self.newest = len(pool_film.frames) - 1
        self.frame = pool_film.frames[min(position, self.newest)]
        self.pool = film.engine.pool
        self.holders = self.frame.holders()
        self.table = self.frame.tables.get(walk, ())

    def line_html(self) -> str:
        """What happened in the step, and a sentence on the chosen block."""
        words = self.describe(self.chosen)
        if self.table:
            words += f" The walk is {self.walk}'s table, {count(len(self.table), 'block')}."
        return event_html(event(self.film, self.position, SLOT), ("", words))

    def html(self, clickable: bool = True) -> str:
        """The picture. clickable: say that a click on a block chooses it."""
        pool, table = self.pool, self.table
        grid = Grid(pool.num_blocks)
        cells = [self._cell(i, grid) for i in range(pool.num_blocks)]
        corners = map(grid.corner, table)
        path = [(round(x + grid.width / 2, 1), round(y + grid.height / 2, 1)) for x, y in corners]
        kept = sum(cell.kept for cell in cells)
        several = sum(len(names) > 1 for names in self.holders.values())
        facts = [
            f"{len(self.holders)} held" + f", {several} of them by several" * bool(several),
            f"{kept} free with old content",
            f"{pool.num_blocks - len(self.holders) - kept} never used",
        ]
        steps = [*map(str, table[:SHOWN]), *["…"][: len(table) - SHOWN]]
        if table:
            facts.append(f"{self.walk}'s table: {' → '.join(steps)}")
        own = {name: colour_of(name) for name in {*self.frame.tables, *self.film.frames[-1].texts}}
        return PAGES.get_template("block_map.html").render(
            error=self.film.error,
            cells=cells,
            grid=grid,
            path=path,
            chosen=self.chosen,
            facts=facts,
            pool=pool,
            waiting=waiting_at(self.film, self.position),
            own=own,
            slots=slots_html(self.film, self.position, own, 36, brief=True, slot=SLOT),
            clickable=clickable,
        )

    def describe(self, block_id: int) -> str:
        """A sentence on one block: holders, tokens, hash, age."""
        frame, size = self.frame, self.pool.block_size
        entries, position = self.holders.get(block_id, []), min(self.position, self.newest)
        num_steps = position - frame.since[block_id]
        age = f"for {count(num_steps, 'step')}" if num_steps else "since this step"
        known = f", hash {frame.known[block_id]}" if block_id in frame.known else ""
        if entries:
            names = " and ".join(f"{name} (entry {index} of its table)" for name, index in entries)
            tokens = max(_tokens_in(frame, name, index, size) for name, index in entries)
            return f"Block {block_id}: held by {names} {age}; {tokens} of {size} tokens{known}."
        if frame.last[block_id] is not None:
            return (
                f"Block {block_id}: free {age}; it still holds what {frame.last[block_id]} "
                f"wrote{known}."
            )
        return f"Block {block_id}: free, never used."

    def _cell(self, i: int, grid: Grid) -> Cell:
        frame, size, walk = self.frame, self.pool.block_size, self.walk
        entries = self.holders.get(i, [])
        last = frame.last[i]
        kept = not entries and last is not None
        width = (grid.width - 3.2) / max(len(entries), 1)
        sizes = [grid.letter_in(name, width) for name, _ in entries]
        parts = []
        for place, (name, index) in enumerate(entries):
            share, colour = _tokens_in(frame, name, index, size) / size, colour_of(name)
            letter = name if all(sizes) else ""
            full, left = share == 1, round(1.6 + place * width, 1)
            wide, filled = round(width, 1), round(share * width, 1)
            ink = ink_on(colour) if full else ""
            parts.append(Part(left, wide, filled, full, colour, letter, sizes[place], ink))
        text = last if kept else f"×{len(entries)}" if len(entries) > 1 and not all(sizes) else ""
        x, y = grid.corner(i)
        return Cell(
            x=x,
            y=y,
            parts=parts,
            text=text if grid.letter_in(text, grid.width) else "",
            title=self.describe(i),
            kept=kept,
            known=i in frame.known,
            dim=walk in frame.tables and walk not in (name for name, _ in entries),
        )


def _tokens_in(frame: PoolFrame, name: str, index: int, size: int) -> int:
    """How many tokens of that request the `index`-th block of its table holds."""
    return max(0, min(size, frame.tokens[name] - index * size))
