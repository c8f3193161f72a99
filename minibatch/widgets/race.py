"""Two or three engines in lockstep on the same requests: their answers side by side."""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from ..core.clock import Clock, WallClock
from ..core.request import Request
from ..engine.argument_checks import as_requests
from ..engine.engine import Engine
from ..plots import guesses
from ..plots.colours import own_colours
from .frame import SHORTEST_STRIP
from .lanes import lane, lanes_html
from .policies import Policy, new, settings, title
from .run_film import Film
from .stepping import Stepping

if TYPE_CHECKING:  # importing transformers takes seconds
    from ..model.load import Model


class EngineRace(Stepping):
    """The same requests under each of `policies`, by title, each on its own engine.

        EngineRace({"Static(8)": mb.Static(8), "Continuous(8)": mb.Continuous(8)}, requests)

    model: None is `mb.load_model()`. highlight: ids of the one to three requests with their own
    colours. guess: the name of a prediction of a step, which is drawn into all. options: of
    `Engine`, the same for all; each has a copy of `clock`. By step, all engines have run the same
    number of steps. By second, each engine is shown at the same time on its own clock, which counts
    only its own steps.
    """

    def __init__(
        self,
        policies: Mapping[str, Policy],
        requests: Iterable[Request],
        model: Model | None = None,
        *,
        highlight: Collection[str] = (),
        clock: Clock | None = None,
        guess: str | None = None,
        **options: object,
    ) -> None:
        if not 2 <= len(policies) <= 3:
            raise ValueError(f"{len(policies)} policies given; a race has two or three")
        if model is None:
            from ..model.load import load_model  # takes seconds

            model = load_model()
        self.own, self.guess = own_colours(tuple(highlight)), guess
        requests, clock = list(as_requests(requests)), clock or WallClock()
        self.films: dict[str, Film] = {}
        for name, policy in policies.items():
            engine = Engine(model, new(policy), clock=copy.copy(clock), **options)
            engine.clock.reset()
            self.films[name] = Film(engine, requests)
        self._moments = [(0,) * len(policies)]
        super().__init__([])
        self.go_to(0)

    def restart(self, policy: Policy | None = None) -> None:
        """Start again with the same policies; `policy`, if given, replaces the last one."""
        self.play_button.value = False
        films = {name: film.remade(new(film.engine.scheduler)) for name, film in self.films.items()}
        if policy is not None:
            last, film = self.films.popitem()
            del films[last]
            scheduler = new(policy, settings(film.engine.scheduler))
            films[title(scheduler)] = film.remade(scheduler)
        self.films, self._moments = films, [(0,) * len(films)]
        self.go_to(0)

    @property
    def places(self) -> tuple[int, ...]:
        """The number of steps that each engine has run at this position."""
        if self.in_seconds:
            return self._moments[self.position]
        return tuple(min(self.position, film.last) for film in self.films.values())

    @property
    def guessed_step(self) -> float | None:
        """The guess, a number of steps; None on an axis of seconds."""
        return guesses.guess(self.guess) if self.guess and not self.in_seconds else None

    @property
    def last(self) -> int:
        if self.in_seconds:
            return len(self._moments) - 1
        return max(film.last for film in self.films.values())

    @property
    def can_go_on(self) -> bool:
        films = self.films.values()
        unseen = any(
            place < film.last for place, film in zip(self._moments[-1], films, strict=True)
        )
        return any(film.can_go_on for film in films) or (self.in_seconds and unseen)

    def reach(self, position: int) -> int:
        if not self.in_seconds:
            return max(film.reach(position) for film in self.films.values())
        while position > self.last and self._add_moment():
            pass
        return min(max(0, position), self.last)

    def _add_moment(self) -> bool:
        """Add the next moment at which a step of any engine ends; False if there is none."""
        films, places = self.films.values(), self._moments[-1]
        nexts = [
            film.frames[place + 1].seconds if film.reach(place + 1) > place else None
            for film, place in zip(films, places, strict=True)
        ]
        times = [time for time in nexts if time is not None]
        if not times:
            return False
        ends = [time == min(times) for time in nexts]
        self._moments.append(tuple(p + end for p, end in zip(places, ends, strict=True)))
        return True

    def turn_axis(self) -> None:
        """Go to the first position that has as many steps as are shown now."""
        self.play_button.value = False
        self.scrubber.description = "moment" if self.in_seconds else "step"
        self.go_to_box.description = f"go to {self.scrubber.description}"
        if self.in_seconds:
            steps, number = self.position, 0
            while max(self._moments[number]) < steps and (
                number < len(self._moments) - 1 or self._add_moment()
            ):
                number += 1
            self.go_to(number)
        else:
            self.go_to(max(self._moments[self.position]))

    def show(self) -> None:
        if self.in_seconds:
            end = max(film.frames[-1].seconds for film in self.films.values())
        else:
            last = max(film.last for film in self.films.values())
            end = max(SHORTEST_STRIP, self.guessed_step or 0, last)
        lanes = [
            lane(name, film, place, end, self.own, self.in_seconds, self.guessed_step)
            for (name, film), place in zip(self.films.items(), self.places, strict=True)
        ]
        self.line.value, self.view.value = lanes_html(lanes, self.own)
