"""A reader's policy, from its text to a class. It runs because the reader pressed "Run"."""

from __future__ import annotations

import inspect
import linecache
import sys
import traceback
from types import ModuleType

from minibatch.schedulers import Scheduler

FILE, OTHER = "your policy", "the other policy"  # names of files, for the sources of both


class CodeError(Exception):
    """What is wrong with the reader's code, in a sentence with its line."""


def load(text: str, file: str = FILE) -> ModuleType:
    """Run the text as a module. Raises CodeError for what it raises."""
    module = ModuleType(file.replace(" ", "_"))
    module.__file__ = file
    sys.modules[module.__name__] = module  # dataclasses look their module up
    lines = text.splitlines(keepends=True)
    linecache.cache[file] = len(text), None, lines, file  # so that a player can show the source
    try:
        exec(compile(text, file, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        raise CodeError(sentence(error)) from error
    return module


def policy_in(module: ModuleType) -> type[Scheduler]:
    """The last policy that the module defines; one that it only imports, if there is no other."""
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, Scheduler)
        and not inspect.isabstract(value)
    ]
    own = [cls for cls in found if cls.__module__ == module.__name__]
    if not found:
        raise CodeError("There is no policy here: define a subclass of mb.schedulers.Scheduler.")
    return (own or found)[-1]


def sentence(error: BaseException) -> str:
    """The error's name and words, and the line of the reader's code that raised it."""
    files = FILE, OTHER
    lines = [at.lineno for at in traceback.extract_tb(error.__traceback__) if at.filename in files]
    if isinstance(error, SyntaxError) and error.filename in files:
        return f"Line {error.lineno}: {type(error).__name__}: {error.msg}"
    where = f"Line {lines[-1]}: " if lines else ""
    return f"{where}{type(error).__name__}: {error}"
