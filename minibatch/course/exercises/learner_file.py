"""A learner's exercise file: reads it as it is saved now, and puts it back to the stub."""

from __future__ import annotations

import importlib.util
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from minibatch.course.exercises import source
from minibatch.course.exercises.source import Task
from minibatch.course.setup.backups import new_backup


def your(name: str, instead: Callable) -> Callable:
    """The learner's class or function `name`, from whichever exercise file defines it, as saved.

    A policy's method that is still a stub is removed, except `plan`, so that the base class's
    method is used. If the learner's code cannot be used yet (a stub, an error in the file), prints
    why and returns `instead`.
    """
    found, sentence = yours_or(name, instead)
    print(sentence)
    return found


def yours_or(name: str, instead: Callable | None) -> tuple[Callable | None, str]:
    """What `your` returns, and the sentence that says whose code it is; None: no substitute."""
    substitute = f"; {instead.__name__} is used instead." if instead else "."
    path = _home(name)
    if path is None:
        return instead, f"{name} is not written yet{substitute}"
    spec = importlib.util.spec_from_file_location(f"your_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        found = getattr(module, name)
    except Exception as error:
        sentence = f"{path.name} cannot be used: {type(error).__name__}: {error}{substitute}"
        return instead, sentence
    if isinstance(found, type):
        stubs = [key for key, value in vars(found).items() if _is_stub(value)]
        written = "plan" not in stubs if hasattr(found, "plan") else not stubs
        for key in stubs:
            delattr(found, key)
    else:
        written = not _is_stub(found)
    if not written:
        return instead, f"Your {name} in exercises/{path.name} is not written yet{substitute}"
    return found, f"This is yours: {name} from exercises/{path.name}."


# Callbacks by task, which display a learner's code again when it passes.
_callbacks: dict[str, list[Callable[[], object]]] = {}


def on_pass(task_id: str, callback: Callable[[], object]) -> None:
    """Register a `callback` for each check of the task that passes in this process."""
    _callbacks.setdefault(task_id, []).append(callback)


def passed(task_id: str) -> int:
    """Call the task's callbacks; returns how many there are."""
    callbacks = list(_callbacks.get(task_id, []))
    for callback in callbacks:
        callback()
    return len(callbacks)


def _home(name: str) -> Path | None:
    defines = re.compile(rf"^(?:class|def) {name}\(", re.MULTILINE)
    for stem in source.stems():
        path = source.exercises_folder() / f"{stem}.py"
        if path.is_file() and defines.search(path.read_text(encoding="utf-8", errors="replace")):
            return path
    return None


def _is_stub(value: object) -> bool:
    """Whether it is a function that only raises the stub's NotImplementedError."""
    code = getattr(value, "__code__", None)
    messages = [text for text in code.co_consts if isinstance(text, str)] if code else []
    return any(text.startswith("Exercise ") and "not written yet" in text for text in messages)


def reset(tasks: list[Task], whole_file: bool) -> Path | None:
    """Put tasks of one file back to the stub; returns the dated folder with the old file.

    whole_file: the whole file, otherwise only the tasks' marked places. Returns None if nothing
    differs. Raises ValueError if a mark is gone, or for a task without a place in the file.
    """
    path = source.exercises_folder() / tasks[0].file_name
    fresh = source.stub((source.SOLUTIONS / tasks[0].file_name).read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    new = fresh
    for task in () if whole_file else tasks:
        if task.changes_minibatch:
            raise ValueError(
                f"exercise {task.id} has no stub to reset: you edit minibatch/ itself. To undo "
                "your edits: `python -m minibatch restore`; it keeps a copy of them"
            )
        for name in source.marked_places(fresh, task.id):
            here, there = source.place(text, name), source.place(fresh, name)
            if here is None:
                raise ValueError(
                    f"{path.name} has lost the marks around exercise {name}; "
                    f'reset("{task.stem[:4]}") restores the whole file, and keeps a copy of yours'
                )
            lines = text.splitlines(keepends=True)
            lines[slice(*here)] = fresh.splitlines(keepends=True)[slice(*there)]
            text = new = "".join(lines)
    if path.is_file() and path.read_text(encoding="utf-8") == new:
        return None
    folder = new_backup(path.parent.parent) / "exercises"
    folder.mkdir()
    if path.is_file():
        shutil.copy2(path, folder / path.name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(new, encoding="utf-8", newline="\n")
    return folder.parent
