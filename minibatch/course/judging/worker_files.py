"""A worker's environment: its variables, the readable part of minibatch, the submission's copy."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from minibatch.course.setup import ROOT

MOST_FILE_BYTES = 2**20  # a file that a person writes has some kilobytes
PYTHON_FILE = re.compile(r"[A-Za-z_]\w*\.py")


def variables(home: Path) -> dict[str, str]:
    """The worker's environment variables: of ours, only those that Python needs to start."""
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
    own = ("HOME", "TMPDIR", "MPLCONFIGDIR", "TORCHINDUCTOR_CACHE_DIR", "NUMBA_CACHE_DIR")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        **dict.fromkeys(own, str(home)),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8:backslashreplace",
        "MPLBACKEND": "agg",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def module_file(name: str) -> Path:
    """The source file of a module of minibatch."""
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def without(folder: Path, hidden: set[Path]) -> tuple[list[Path], list[Path]]:
    """The parts of a folder without the hidden modules, and without their compiled files: (readable
    files and folders, folders of which only the names may be listed)."""
    if not any(path.is_relative_to(folder) for path in hidden):
        is_hidden = folder.name == "__pycache__" and any(p.parent == folder.parent for p in hidden)
        if not is_hidden:
            return [folder], []
    readable: list[Path] = []
    listable = [folder]
    for path in folder.iterdir():
        source = path.parent.parent if folder.name == "__pycache__" else path.parent
        if path.is_dir():
            more, names = without(path, hidden)
            readable += more
            listable += names
        elif source / f"{path.name.partition('.')[0]}.py" not in hidden:
            readable.append(path)
    return readable, listable


def copy_submission(folder: Path, copy: Path) -> None:
    """Copy the Python files only: no links, and no file over MOST_FILE_BYTES."""
    copy.mkdir()
    for path in sorted(folder.glob("*.py")):
        is_wanted = PYTHON_FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        if is_wanted and path.stat().st_size <= MOST_FILE_BYTES:
            shutil.copyfile(path, copy / path.name)


def remove(folder: Path) -> None:
    """Remove a folder in which a stranger's code may have made folders a thousand levels deep, or
    folders that nobody may read."""
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if os.name == "posix" and os.path.lexists(folder):
        for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
            subprocess.run([*command, str(folder)], check=False, capture_output=True)
