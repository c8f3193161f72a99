"""Replaces modules that contain a task's answer, before the learner's file is read.

The judge makes the replacements and the worker imports them. A policy's module becomes a class that
raises an error. In a module that other code needs, only methods are replaced.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

_PLACEHOLDER = """\
class {name}:
    def __init__(self, *args, **kwargs):
        raise TypeError(_SENTENCE)

    def __init_subclass__(cls, **kwargs):
        raise TypeError(_SENTENCE)


_SENTENCE = "[answer_is_withheld] mb.{name} is what this exercise asks for; write your own{base}"
"""
_CUT = "raise NotImplementedError('[part_is_withheld] write mb.{} yourself')"


def replacement(path: Path, answer: str | list[str]) -> str:
    """The source that replaces the module at `path`.

    answer: the class that it defines, or functions of it, and methods of its classes,
    ["Scheduler.update", …].
    """
    if isinstance(answer, str):
        base = ", a subclass of mb.Scheduler" if path.parent.name == "schedulers" else ""
        return _PLACEHOLDER.format(name=answer, base=base)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for owner in tree.body:
        if getattr(owner, "name", "") in answer:
            owner.body = ast.parse(_CUT.format(owner.name)).body
        for method in getattr(owner, "body", []):
            name = f"{getattr(owner, 'name', '')}.{getattr(method, 'name', '')}"
            if name in answer:
                method.body = ast.parse(_CUT.format(name)).body
    return ast.unparse(tree)


class Withheld(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports modules from the sources it was given: {"minibatch.schedulers.static": "class …"}."""

    def __init__(self, sources: dict[str, str]) -> None:
        self.sources = sources

    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        if name in self.sources:
            return importlib.util.spec_from_loader(name, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        exec(compile(self.sources[name], f"<{name}, without the answer>", "exec"), vars(module))
