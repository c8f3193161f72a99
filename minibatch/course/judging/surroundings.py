"""What a desk finds around it: its environment, a copy of minibatch, a copy of the submission."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from minibatch.course.setup import ROOT


def variables(package_root: Path, home: Path) -> dict[str, str]:
    """The desk's environment: nothing of ours but what a Python needs to start."""
    kept = ("PATH", "SYSTEMROOT", "LD_LIBRARY_PATH", "LANG", "LC_ALL")
    return {
        **{name: os.environ[name] for name in kept if name in os.environ},
        "PYTHONPATH": str(package_root),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONIOENCODING": "utf-8",
        "HOME": str(home),
        "TMPDIR": str(home),
        "TORCHINDUCTOR_CACHE_DIR": str(home),  # torch makes this folder if it has to, and cannot
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "NUMBA_NUM_THREADS": "1",
        "MALLOC_ARENA_MAX": "2",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
    }


def copy_package(copy: Path, withheld: set[Path]) -> None:
    """minibatch/ as it is now, without the weights."""
    for path in (ROOT / "minibatch").rglob("*.py"):
        name = path.relative_to(ROOT)
        if "__pycache__" not in name.parts and name not in withheld:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy / name)


def restore_package(copy: Path) -> None:
    """Its files as of the last commit, where there is one."""
    for path in copy.rglob("*.py"):
        name = path.relative_to(copy).as_posix()
        shown = subprocess.run(
            ["git", "-C", str(ROOT), "show", f"HEAD:{name}"], capture_output=True
        )
        if shown.returncode == 0:
            path.write_bytes(shown.stdout)


def copy_submission(folder: Path, copy: Path, most_bytes: int = 2**20) -> None:
    """The exercise files alone: no links, nothing larger than a person writes."""
    copy.mkdir()
    for path in sorted(folder.glob("*.py")):
        if path.is_file() and not path.is_symlink() and path.stat().st_size <= most_bytes:
            shutil.copyfile(path, copy / path.name)


def apply_patch(patch: Path, package_root: Path) -> bool:
    """Apply a submission's edits to a copy of minibatch, all or none; what lies beyond is left out.

    Returns whether they fit.
    """
    command = ["git", "apply", "--whitespace=nowarn", "--include=minibatch/*", str(patch)]
    variables = {**os.environ, "GIT_CEILING_DIRECTORIES": str(package_root.parent)}
    done = subprocess.run(
        command, cwd=package_root, env=variables, capture_output=True, text=True, timeout=60
    )
    return done.returncode == 0
