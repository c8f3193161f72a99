"""The pool of a running engine as a grid, block by block, beside the slots."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import ipywidgets

from ..core.collector import collector_held_back
from ..core.request import Request
from ..engine.engine import Engine
from ..plots.colours import colour_of, ink_on
from .film_controls import Filmed
from .frame import event, event_html, slots_html, waiting_at
from .pool_film import PoolFilm, PoolFrame
from .run_film import Film
from .widget_templates import PAGES, count

NO_REQUEST = "nobody"
SHOWN = 24  # entries of a block table that are listed
HIDDEN = {"display": "none"}
SMALLEST = 13  # size of a letter, in pixels


@dataclass
class Part:
    """One holder's part of a block's cell, coloured as far as it has K and V.

    ink: the colour of its letter; "": the page's own, where the part is not filled."""

    left: float
    width: float
    filled: float
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


class BlockMap(Filmed):
    """The pool of `engine`, as it serves `requests`, which are added at once.

    A block has the colour and the letter of its holder. The hollow part is allocated but empty.
    Several holders are side by side in one block. A dashed block is free, and its old content is
    still there. walk: the request whose block table is drawn as a path through the grid; the menu
    "table of" changes it. The field "block" chooses the block to describe, also without a mouse.
    """

    def __init__(self, engine: Engine, requests: Iterable[Request] = (), walk: str = "") -> None:
        self.film, self.pool_film = Film(engine, requests), PoolFilm(engine)
        self.walk_menu = ipywidgets.Dropdown(
            options=[NO_REQUEST, *self.film.frames[0].texts],
            value=walk or NO_REQUEST,
            description="table of",
            layout=ipywidgets.Layout(width="12em"),
            style={"description_width": "4.5em"},
        )
        self.block_box = ipywidgets.BoundedIntText(
            min=0,
            max=engine.pool.num_blocks - 1,
            description="block",
            layout=ipywidgets.Layout(width="10em"),
            style={"description_width": "3.5em"},
        )
        self.block_box.add_class("minibatch-block")
        self.clicked = ipywidgets.Text(layout=HIDDEN).add_class("minibatch-clicked")
        listener = PAGES.get_template("block_click.html").render()
        listens = ipywidgets.HTML(listener, layout=HIDDEN)
        super().__init__([self.walk_menu, self.block_box, self.clicked, listens])
        self.add_class("minibatch-map")
        self.axis.layout.display = "none"  # a pool has only steps
        self._is_picking = False
        self.walk_menu.observe(self._on_choice, "value")
        self.block_box.observe(self._on_choice, "value")
        self.clicked.observe(self._on_click, "value")
        self.go_to(0)

    def pick(self, block_id: int) -> None:
        """Describe this block, and draw the table of its holder; of several, each time the next.
        A click on the block does this, and Enter on its number."""
        holders = self.pool_film.frames[self.position].holders().get(block_id, [])
        names = [name for name, _ in holders] or [NO_REQUEST]
        walk = self.walk_menu.value
        place = names.index(walk) + 1 if walk in names else 0
        self._is_picking = True
        try:
            self.block_box.value = block_id
            self.walk_menu.value = names[place % len(names)]
        finally:
            self._is_picking = False
        self.show()

    def _on_choice(self, _change: object) -> None:
        if not self._is_picking:
            self.show()

    def _on_click(self, change: dict) -> None:
        if change["new"]:
            self.pick(int(change["new"]))
            self.clicked.value = ""  # so that the same block can be clicked again

    @collector_held_back()
    def show(self) -> None:
        """Draw the pool, and describe the step and the chosen block."""
        self._add_new_requests()
        frame, pool = self.pool_film.frames[self.position], self.engine.pool
        walk = self.walk_menu.value
        holders = frame.holders()
        words, table = (
            self.describe(self.block_box.value, frame, holders),
            frame.tables.get(walk, ()),
        )
        if table:
            words += f" The walk is {walk}'s table, {count(len(table), 'block')}."
        self.line.value = event_html(event(self.film, self.position), ("", words))
        grid = Grid(pool.num_blocks)
        cells = [self._cell(i, frame, holders, grid) for i in range(pool.num_blocks)]
        corners = map(grid.corner, table)
        path = [(round(x + grid.width / 2, 1), round(y + grid.height / 2, 1)) for x, y in corners]
        kept = sum(cell.kept for cell in cells)
        several = sum(len(names) > 1 for names in holders.values())
        facts = [
            f"{len(holders)} held" + f", {several} of them by several" * bool(several),
            f"{kept} free with old content",
            f"{pool.num_blocks - len(holders) - kept} never used",
        ]
        steps = [*map(str, table[:SHOWN]), *["…"][: len(table) - SHOWN]]
        if table:
            facts.append(f"{walk}'s table: {' → '.join(steps)}")
        own = {name: colour_of(name) for name in {*frame.tables, *self.film.frames[-1].texts}}
        self.view.value = PAGES.get_template("block_map.html").render(
            error=self.film.error,
            cells=cells,
            grid=grid,
            path=path,
            chosen=self.block_box.value,
            facts=facts,
            pool=pool,
            waiting=waiting_at(self.film, self.position),
            own=own,
            slots=slots_html(self.film, self.position, own, 36, brief=True),
        )

    def describe(self, block_id: int, frame: PoolFrame, holders: dict) -> str:
        """A sentence on one block: holders, tokens, hash, age."""
        size, position = self.engine.pool.block_size, len(self.pool_film.frames) - 1
        entries = holders.get(block_id, [])
        position = min(self.position, position)
        age = f"for {count(position - frame.since[block_id], 'step')}"
        known = f", hash {frame.known[block_id]}" if block_id in frame.known else ""
        if entries:
            names = " and ".join(f"{name} (entry {index} of its table)" for name, index in entries)
            tokens = max(_tokens_in(frame, name, index, size) for name, index in entries)
            return f"Block {block_id}: held by {names} {age}; {tokens} of {size} tokens{known}."
        if frame.last[block_id] is not None:
            return (
                f"Block {block_id}: free {age}; what {frame.last[block_id]} wrote is there{known}."
            )
        return f"Block {block_id}: free, never used."

    def _cell(self, i: int, frame: PoolFrame, holders: dict, grid: Grid) -> Cell:
        entries, size, walk = holders.get(i, []), self.engine.pool.block_size, self.walk_menu.value
        last = frame.last[i]
        kept = not entries and last is not None
        width = (grid.width - 3.2) / max(len(entries), 1)
        sizes = [grid.letter_in(name, width) for name, _ in entries]
        parts = []
        for place, (name, index) in enumerate(entries):
            share, colour = _tokens_in(frame, name, index, size) / size, colour_of(name)
            letter = name if all(sizes) else ""
            left, ink = round(1.6 + place * width, 1), ink_on(colour) if share > 0.8 else ""
            wide, filled = round(width, 1), round(share * width, 1)
            parts.append(Part(left, wide, filled, colour, letter, sizes[place], ink))
        text = last if kept else f"×{len(entries)}" if len(entries) > 1 and not all(sizes) else ""
        x, y = grid.corner(i)
        return Cell(
            x=x,
            y=y,
            parts=parts,
            text=text if grid.letter_in(text, grid.width) else "",
            title=self.describe(i, frame, holders),
            kept=kept,
            known=i in frame.known,
            dim=walk in frame.tables and walk not in (name for name, _ in entries),
        )

    def _add_new_requests(self) -> None:
        """Add requests that came later, such as forks, to the menu."""
        seen = self.pool_film.frames[self.position].tables
        new = [name for name in seen if name not in self.walk_menu.options]
        if new:
            self.walk_menu.options = [*self.walk_menu.options, *new]


def _tokens_in(frame: PoolFrame, name: str, index: int, size: int) -> int:
    """How many tokens of that request the `index`-th block of its table holds."""
    return max(0, min(size, frame.tokens[name] - index * size))
