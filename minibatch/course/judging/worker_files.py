"""What a desk finds around it: its environment, what of minibatch it may read, the submission."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from minibatch.course.setup import ROOT

MOST_FILE_BYTES = 2**20  # a person's file has some kilobytes
PYTHON_FILE = re.compile(r"[A-Za-z_]\w*\.py")


def variables(home: Path) -> dict[str, str]:
    """The desk's environment: nothing of ours but what a Python needs to start."""
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
    """Where a module of minibatch is written."""
    return ROOT.joinpath(*name.split(".")).with_suffix(".py")


def without(folder: Path, hidden: set[Path]) -> tuple[list[Path], list[Path]]:
    """What to read of a folder so that the hidden modules are not read, compiled ones included:
    files and folders, and folders of which only the names are to be seen."""
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
    """Its Python files alone: no links, nothing larger than a person writes."""
    copy.mkdir()
    for path in sorted(folder.glob("*.py")):
        is_wanted = PYTHON_FILE.fullmatch(path.name) and path.is_file() and not path.is_symlink()
        if is_wanted and path.stat().st_size <= MOST_FILE_BYTES:
            shutil.copyfile(path, copy / path.name)


def remove(folder: Path) -> None:
    """A folder in which a stranger may have written, folders within folders a thousand deep."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    except RecursionError:
        subprocess.run(["rm", "-rf", str(folder)], check=False)
