"""The pool of a running engine as a grid, block by block, beside the slots."""

from __future__ import annotations

from collections.abc import Iterable

import ipywidgets

from ..core.collector import collector_held_back
from ..core.request import Request
from ..engine.engine import Engine
from .film_controls import Filmed
from .pool_film import PoolFilm
from .pool_grid import NO_REQUEST, PoolGrid
from .run_film import Film
from .widget_templates import PAGES

HIDDEN = {"display": "none"}


class BlockMap(Filmed):
    """The pool of `engine`, as it serves `requests`, which are added at once.

    A full block has the colour and the letter of its holder; in others a bar shows how full they
    are. Several holders are side by side in one block. A dashed block is free, and its old content
    is still there. walk: the request whose block table is drawn as a path through the grid; the
    menu "table of" changes it. The field "block" chooses the block to describe, also without a
    mouse.
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
        at = self.position, self.walk_menu.value, self.block_box.value
        picture = PoolGrid(self.film, self.pool_film, *at)
        self.line.value, self.view.value = picture.line_html(), picture.html()

    def _add_new_requests(self) -> None:
        """Add requests that came later, such as forks, to the menu."""
        seen = self.pool_film.frames[self.position].tables
        new = [name for name in seen if name not in self.walk_menu.options]
        if new:
            self.walk_menu.options = [*self.walk_menu.options, *new]
