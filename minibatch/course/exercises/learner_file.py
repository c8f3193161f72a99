"""A learner's own exercise file: read as it is saved now, put back to the stub, handed in."""

from __future__ import annotations

import importlib.util
import inspect
import shutil
import subprocess
import zipfile
from datetime import datetime
from pathlib import Path
from types import FunctionType

from minibatch.course.exercises import source
from minibatch.course.exercises.source import PATCH, Task
from minibatch.setup import ROOT
from minibatch.setup.edits import BACKUPS


def your(name: str, instead: type) -> type:
    """The learner's class `name`, from whichever exercise file defines it, as saved now.

    A method that is still a stub is left out, so that the base class's serves. Where the class
    cannot be used yet (its `plan` is a stub, the file has an error), says so and returns `instead`.
    """
    stem = next((stem for stem in source.stems() if f"class {name}(" in _text(stem)), None)
    if stem is None:
        print(f"No exercise file has a class {name} (any more); this is {instead.__name__}.")
        return instead
    path = source.EXERCISES / f"{stem}.py"
    spec = importlib.util.spec_from_file_location(f"your_{stem}", path)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        cls = getattr(module, name)
    except Exception as error:
        print(f"{path.name} cannot be read: {type(error).__name__}: {error}.")
        print(f"Until that is mended, this is {instead.__name__}.")
        return instead
    for key, method in list(vars(cls).items()):
        if isinstance(method, FunctionType) and _is_stub(method):
            delattr(cls, key)
    if inspect.isabstract(cls) or getattr(cls.plan, "__isabstractmethod__", False):
        print(f"{name}.plan is not written yet ({path.name}); this is {instead.__name__}.")
        return instead
    print(f"This is your {name}, from {path.name}.")
    return cls


def _is_stub(method: FunctionType) -> bool:
    code = method.__code__
    messages = [text for text in code.co_consts if isinstance(text, str)]
    stub = any(text.startswith("Exercise ") and "not written yet" in text for text in messages)
    return stub and "NotImplementedError" in code.co_names


def _text(stem: str) -> str:
    path = source.EXERCISES / f"{stem}.py"
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def reset(tasks: list[Task], whole_file: bool, root: Path = ROOT) -> Path | None:
    """Put tasks of one file back to the stub; returns the dated folder with what was there before.

    whole_file: the file as a whole, else only the tasks' marked places. None if nothing differs.
    Raises ValueError if a mark is gone, or for a task that has no place in the file.
    """
    path = root / "exercises" / tasks[0].file_name
    fresh = source.stub((root / "solutions" / tasks[0].file_name).read_text(encoding="utf-8"))
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    new = fresh
    for task in () if whole_file else tasks:
        if task.changes_minibatch:
            raise ValueError(
                f"exercise {task.id} changes minibatch/ itself: `python -m minibatch restore` "
                "puts that back, and keeps a copy"
            )
        here, there = source.place(text, task.id), source.place(fresh, task.id)
        if here is None:
            raise ValueError(
                f"{path.name} has lost the marks around exercise {task.id}; "
                f'reset("{task.stem[:4]}") puts the whole file back, and keeps a copy'
            )
        lines = text.splitlines(keepends=True)
        lines[slice(*here)] = fresh.splitlines(keepends=True)[slice(*there)]
        text = new = "".join(lines)
    if path.is_file() and path.read_text(encoding="utf-8") == new:
        return None
    folder = root / BACKUPS / datetime.now().strftime("%Y-%m-%d-%H%M%S-%f") / "exercises"
    folder.mkdir(parents=True)
    if path.is_file():
        shutil.copy2(path, folder / path.name)
    path.parent.mkdir(exist_ok=True)
    path.write_text(new, encoding="utf-8", newline="\n")
    return folder.parent


def hand_in(path: Path, root: Path = ROOT) -> list[str]:
    """A zip of what a teacher grades: the exercise files, and the edits in minibatch/ as a patch.

    Returns the names in it. Raises OSError if git cannot tell the edits.
    """
    files = sorted((root / "exercises").glob("ex*.py"))
    done = subprocess.run(
        ["git", "-C", str(root), "diff", "--no-color", "--no-ext-diff", "HEAD", "--", "minibatch"],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    if done.returncode != 0:
        raise OSError(f"git could not tell your edits in minibatch/: {done.stderr.strip()}")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            archive.write(file, file.name)
        if done.stdout:
            archive.writestr(PATCH, done.stdout)
    return [file.name for file in files] + [PATCH] * bool(done.stdout)
