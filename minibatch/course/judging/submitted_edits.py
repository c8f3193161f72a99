"""Puts a submission's edits in minibatch into a copy of it: only what the task allows.

Edits are a patch or, from a learner without git, the files themselves under minibatch/. They are
not run here. Only the folders that the task names count. Other parts of a patch are left out, so
that a submission cannot replace the judge.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from contextlib import suppress
from pathlib import Path

from minibatch.course.exercises.source import PATCH, Task, exercises_folder
from minibatch.course.judging.plain_text import plain
from minibatch.course.judging.worker_errors import Died, NotAttempted
from minibatch.course.setup import ROOT
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git_bytes

WEIGHTS = Path("minibatch", "wayfarer", "weights")


def edited_package(task: Task, submission: Path, room: Path) -> Path | None:
    """The folder in `room` to import an edited minibatch from; None is the course's own, as it is
    now. Raises NotAttempted if nothing is edited that the task may change."""
    if not task.changes_minibatch or submission == exercises_folder():
        return None
    copy = room / "package"
    copy_package(copy)
    if not edited(submission, copy, task.may_change):
        raise NotAttempted(
            f"[no_patch] there is no {PATCH} that edits {' or '.join(task.may_change)}"
        )
    return copy


def copy_package(copy: Path) -> None:
    """Copy minibatch/ as it is now; the weights become a link."""
    for path in (ROOT / "minibatch").rglob("*"):
        name = path.relative_to(ROOT)
        if path.is_file() and "__pycache__" not in name.parts and not name.is_relative_to(WEIGHTS):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy / name)
    if os.name == "posix":
        (copy / WEIGHTS).symlink_to(ROOT / WEIGHTS)


def edited(submission: Path, copy: Path, may_change: list[str]) -> bool:
    """Put the submission's edits into the copy. Returns whether any of them count.

    Raises Died for a patch that cannot be read, or does not fit.
    """
    patch = submission / PATCH
    if patch.is_file():
        return _patched(patch, copy, may_change)
    changed = False
    for path in sorted(file for room in may_change for file in (submission / room).rglob("*.py")):
        target = copy / path.relative_to(submission)
        new = path.read_bytes()
        if path.is_symlink() or (target.is_file() and target.read_bytes() == new):
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(new)
        changed = True
    return changed


def left_out(patch: Path, may_change: list[str]) -> list[str]:
    """The files that a patch changes, but that do not count."""
    try:
        return [name for name in _names(patch) if not _counts(name, may_change)]
    except Died:
        return []


def _patched(patch: Path, copy: Path, may_change: list[str]) -> bool:
    if not any(_counts(name, may_change) for name in _names(patch)):
        return False
    wanted = [f"--include={room}/*.py" for room in may_change]
    if not _apply(patch, copy, *wanted):
        _as_committed(copy)  # the checkout has edits of its own: start from the last commit
        if not _apply(patch, copy, *wanted):
            raise Died(f"[patch_does_not_apply] {PATCH} does not fit this version of minibatch")
    for path in copy.rglob("*"):
        if path.is_symlink() and path != copy / WEIGHTS:
            path.unlink()
    return True


def _counts(name: str, may_change: list[str]) -> bool:
    return name.endswith(".py") and name.startswith(tuple(f"{room}/" for room in may_change))


def _names(patch: Path) -> list[str]:
    done = _git(patch, ROOT, "--numstat", "-z")
    if done.returncode != 0:
        raise Died(
            "[patch_cannot_be_read] "
            f"{PATCH} cannot be read: {plain(done.stderr).splitlines()[0][:200]}"
        )
    return [line.split("\t")[-1] for line in done.stdout.split("\0") if line]


def _apply(patch: Path, copy: Path, *options: str) -> bool:
    return _git(patch, copy, "--whitespace=nowarn", *options).returncode == 0


def _git(patch: Path, folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run git apply; works with any git settings: names with or without a/ and b/."""
    is_bare = re.search(rb"^(---|\+\+\+) minibatch/", patch.read_bytes(), re.MULTILINE)
    return subprocess.run(
        ["git", "apply", "-p0" if is_bare else "-p1", *options, str(patch)],
        cwd=folder,
        env={**os.environ, "GIT_DIR": os.devnull},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )


def _as_committed(copy: Path) -> None:
    """Put the copy's files back to the last commit, if there is one."""
    for path in copy.rglob("*.py"):
        name = path.relative_to(copy).as_posix()
        with suppress(SetupError):  # the teacher's own file
            path.write_bytes(git_bytes(ROOT, "show", f"HEAD:{name}"))
