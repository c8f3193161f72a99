"""Modules that hold the answer to the task at hand, replaced by ones that say so."""

from __future__ import annotations

import importlib.abc
import importlib.util
from types import ModuleType
from typing import Any


class Withheld(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Modules that hold the answer to the task at hand, replaced by ones that say so."""

    def __init__(self, withheld: dict[str, str]) -> None:
        self.withheld = withheld  # module -> the class it defines

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name in self.withheld:
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        setattr(
            module, self.withheld[module.__name__], _placeholder(self.withheld[module.__name__])
        )


def _placeholder(name: str) -> type:
    sentence = f"mb.{name} is what this exercise asks for; write your own, on mb.Scheduler"

    def refuse(*args: object, **kwargs: object) -> None:
        raise TypeError(sentence)

    return type(name, (), {"__init_subclass__": classmethod(refuse), "__init__": refuse})
