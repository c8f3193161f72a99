"""A player for a real engine: forward runs it, step by step; back shows earlier frames."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import ipywidgets

from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from .film_controls import Filmed
from .frame import event, event_html, frame_html
from .menu import PolicyMenu
from .policies import Policy, new, settings
from .run_film import Film


class EnginePlayer(Filmed):
    """Controls and a picture of `engine` as it serves `requests`, which are added at once.
    If the engine refuses one, its ValueError is raised, and none of them is kept.

    highlight: ids of the one to three requests with their own colours. show_plan: show the source
    of the policy's `plan` below the slots, with the line marked that admitted the new request.

    Going back changes nothing in the engine; going forward past the newest step runs a step. If
    your policy raises an exception, it is shown, and the next step tries again. The menu has every
    policy that the notebook defines; another choice serves the same requests from the start, in
    another `engine`.
    """

    def __init__(
        self,
        engine: Engine,
        requests: Iterable[Request],
        *,
        highlight: Collection[str] = (),
        show_plan: bool = False,
    ) -> None:
        self.highlight, self.show_plan = tuple(highlight), show_plan
        self.film = Film(engine, requests, watch_plan=show_plan)
        self._slots = {"max_batch_size": max(engine.scheduler.max_batch_size, 1)}
        self.menu = PolicyMenu("policy", type(engine.scheduler))
        self.menu.on_choice(self.restart)
        self.again_button = ipywidgets.Button(
            description="Again",
            icon="undo",
            tooltip="from the start, under the policy of that name as it is now",
            layout=ipywidgets.Layout(width="7em"),
        )
        self.again_button.on_click(lambda _: self.restart())
        super().__init__([self.menu, self.again_button])
        self.go_to(0)

    def restart(self, policy: Policy | None = None) -> None:
        """Serve the same requests from the start, in an engine like the last one, under `policy`: a
        class, or an unused policy. None: the menu's choice, as it is defined now. An error in
        making it is shown."""
        self.play_button.value = False
        old = self.film.engine.scheduler
        chosen = self.menu.chosen if policy is None else policy
        same = isinstance(chosen, type) and chosen.__name__ == type(old).__name__
        try:
            scheduler = new(chosen, settings(old) if same else self._slots)
            self.film = self.film.remade(scheduler)
        except Exception as error:  # a policy under construction
            self.film.error = f"{type(error).__name__}: {error}"
            self.show()
            return
        self.menu.offer(type(scheduler))
        self.go_to(0)

    @property
    def trace(self) -> Trace:
        """The trace of the run that is shown."""
        return self.film.trace

    def show(self) -> None:
        self.line.value = event_html(event(self.film, self.position))
        options = self.highlight, self.in_seconds, self.show_plan
        self.view.value = frame_html(self.film, self.position, *options)
