"""What steps through the film of one engine: the player, and the map of its pool."""

from __future__ import annotations

from ..engine.engine import Engine
from .run_film import Film
from .stepping import Stepping


class Filmed(Stepping):
    """A subclass makes `film` before anything else, and may put another in its place."""

    film: Film

    @property
    def engine(self) -> Engine:
        """The one that runs now."""
        return self.film.engine

    @property
    def last(self) -> int:
        return self.film.last

    @property
    def can_go_on(self) -> bool:
        return self.film.can_go_on

    def reach(self, position: int) -> int:
        return self.film.reach(position)
