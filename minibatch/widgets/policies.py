"""The policies that a menu offers: the course's own, and every one that the notebook defines.

A policy serves one engine only. So a menu offers classes, and each engine gets a new policy.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Iterable, Mapping

from ..schedulers import Continuous, Dynamic, Scheduler, Sequential, Static, reset_policy

COURSE = (Sequential, Static, Dynamic, Continuous)
Policy = Scheduler | type[Scheduler]


def policies(own: Iterable[type[Scheduler]] = COURSE) -> dict[str, type[Scheduler]]:
    """The policies of `own`, and those that the notebook defines now, by name."""
    ours = {cls.__name__ for cls in COURSE}
    notebook = [value for value in vars(sys.modules["__main__"]).values() if is_policy(value)]
    theirs = [cls for cls in notebook if cls.__name__ not in ours]
    return {cls.__name__: cls for cls in (*own, *theirs)}


def is_policy(value: object) -> bool:
    """Whether it is a class of policies. Compared by name: after an edit, autoreload may leave two
    classes with one name."""
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
