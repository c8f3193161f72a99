"""The menu of policies. A policy that a cell defines appears once the cell has run."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import ipywidgets
from IPython import get_ipython

from ..schedulers import Scheduler
from .policies import COURSE, policies


class PolicyMenu(ipywidgets.Dropdown):
    """Names of policies. A policy that a cell defines appears once the cell has run."""

    def __init__(
        self,
        description: str,
        first: type[Scheduler] | None,
        own: Iterable[type[Scheduler]] = COURSE,
        nothing: str = "",
    ) -> None:
        """first: the first choice. nothing: the label of an entry for no policy; "": no such
        entry."""
        self._own, self._nothing = tuple(own), [nothing] if nothing else []
        self._given: dict[str, tuple] = {}  # by name: a class, and the notebook's at that time
        self._choose: Callable[[], object] = lambda: None
        super().__init__(
            description=description,
            layout=ipywidgets.Layout(width="16em"),
            style={"description_width": "5em"},
        )
        self.offer(first)
        self.observe(lambda _: self._choose(), "value")
        if shell := get_ipython():
            shell.events.register("post_run_cell", lambda _: self.refresh())

    def on_choice(self, choose: Callable[[], object]) -> None:
        """Call `choose` when the user chooses, but not when the menu gets new entries."""
        self._choose = choose

    @property
    def chosen(self) -> type[Scheduler] | None:
        """The class of the name that is shown, as it is defined now."""
        now = policies(self._own).get(self.value)
        given, then = self._given.get(self.value, (now, now))
        return given if now is then else now

    def offer(self, policy: type[Scheduler] | None) -> None:
        """Add the policy to the menu, and choose it."""
        name = policy.__name__ if policy else self._nothing[0]
        if policy:
            self._given[name] = policy, policies(self._own).get(name)
        self.refresh(name)

    def refresh(self, name: str | None = None) -> None:
        """Add the policies defined since. name: the entry to show; None: the same as before."""
        names = [*self._nothing, *(policies(self._own) | self._given)]
        name = name or self.value
        choose, self._choose = self._choose, lambda: None  # setting options selects the first one
        try:
            if names != list(self.options):
                self.options = names
            self.value = name if name in names else names[0]
        finally:
            self._choose = choose
