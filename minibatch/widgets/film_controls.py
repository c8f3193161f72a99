"""The base of widgets that step through the film of one engine: EnginePlayer and BlockMap."""

from __future__ import annotations

from ..engine.engine import Engine
from .run_film import Film
from .stepping import Stepping


class Filmed(Stepping):
    """A subclass sets `film` first, and may replace it later."""

    film: Film

    @property
    def engine(self) -> Engine:
        """The engine of the present film."""
        return self.film.engine

    @property
    def last(self) -> int:
        return self.film.last

    @property
    def can_go_on(self) -> bool:
        return self.film.can_go_on

    def reach(self, position: int) -> int:
        return self.film.reach(position)
