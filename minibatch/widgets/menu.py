"""The policies that a menu offers: the course's own, and every one that the notebook defines.

A policy serves one engine only. So a menu offers classes, and each engine gets a new policy.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable, Iterable, Mapping

import ipywidgets
from IPython import get_ipython

from ..schedulers import Continuous, Dynamic, Scheduler, Sequential, Static, reset_policy

COURSE = (Sequential, Static, Dynamic, Continuous)
Policy = Scheduler | type[Scheduler]


def policies(own: Iterable[type[Scheduler]] = COURSE) -> dict[str, type[Scheduler]]:
    """The policies of `own`, and those that the notebook defines now, by name."""
    ours = {cls.__name__ for cls in COURSE}
    notebook = [value for value in vars(sys.modules["__main__"]).values() if _is_policy(value)]
    theirs = [cls for cls in notebook if cls.__name__ not in ours]
    return {cls.__name__: cls for cls in (*own, *theirs)}


def _is_policy(value: object) -> bool:
    """Compared by name: after an edit, autoreload may leave two classes with one name."""
    if not isinstance(value, type) or inspect.isabstract(value):
        return False
    return any(cls.__name__ == "Scheduler" for cls in value.__mro__[1:])


def settings(policy: Scheduler) -> dict[str, object]:
    """The arguments it was made with, if it keeps them under the same names."""
    names = inspect.signature(type(policy)).parameters
    return {name: value for name, value in vars(policy).items() if name in names}


def new(policy: Policy, known: Mapping[str, object] | None = None) -> Scheduler:
    """An unused policy of this class, or with the settings of this one.

    known: settings for a class; those that its `__init__` does not accept are left out.
    """
    if isinstance(policy, type):
        names = inspect.signature(policy).parameters
        return policy(**{name: value for name, value in (known or {}).items() if name in names})
    if policy.pool is None:
        return policy
    another = new(type(policy), copy.deepcopy(settings(policy)))
    reset_policy(another)  # its parts are copies of used ones
    return another


def title(policy: Scheduler) -> str:
    """ "Continuous(8)": its class, and its number of slots."""
    return f"{type(policy).__name__}({policy.max_batch_size})"


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
