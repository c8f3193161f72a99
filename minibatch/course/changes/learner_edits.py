"""Shows and undoes a learner's edits in minibatch/, with git. The course asks learners to edit.

"Edits" are all differences from the course's last commit, committed by the learner or not. Files
that the learner added are listed, and never changed.
"""

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from minibatch.course.changes import conflicts
from minibatch.course.setup import ROOT
from minibatch.course.setup.backups import BACKUPS, new_backup
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import course_commit, git, is_repository, names


@dataclass(frozen=True, slots=True)
class Edits:
    """The paths under minibatch/ that differ from the course's, relative to the root."""

    changed: list[str]  # the course's files that were edited or deleted
    added: list[str]  # files that the course does not have


def diff_main(arguments: list[str], root: Path = ROOT) -> int:
    """`python -m minibatch diff [path ...]`: print the edits as a patch."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch diff", description="Show your edits in minibatch/."
    )
    parser.add_argument("paths", nargs="*", default=["minibatch"], help="only these files")
    parser.add_argument("--stat", action="store_true", help="only count the lines")
    options = parser.parse_args(arguments)
    edits = find_edits(root, options.paths)
    if not edits.changed and not edits.added:
        print("No edits: minibatch/ is the course's version.")
        return 0
    if edits.changed:
        sys.stdout.flush()
        command = ["git", "-C", root, "-c", f"safe.directory={root.as_posix()}", "diff"]
        command += ["--stat"] * options.stat + [course_commit(root), "--"]
        subprocess.run([*command, *edits.changed])
    _print_added(edits)
    return 0


def restore_main(arguments: list[str], root: Path = ROOT) -> int:
    """`python -m minibatch restore [path ...] [--yes]`: undo the edits, keeping a dated copy."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch restore",
        description="Undo your edits in minibatch/. A copy of what you had is kept in "
        f"{BACKUPS}/. If a `git pull` has left files with conflict marks (also in lessons or "
        "exercises), only those are repaired.",
    )
    parser.add_argument("paths", nargs="*", help="only these files")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args(arguments)
    conflicted = [c for c in conflicts.find(root) if not options.paths or c.path in options.paths]
    if conflicted:
        print("With conflict marks, to be repaired:", *(c.path for c in conflicted), sep="\n  ")
        if options.yes or _confirmed("Mend them?"):
            return _resolve(root, conflicted)
        return _nothing_changed()
    edits = find_edits(root, options.paths or ["minibatch"])
    if not edits.changed:
        print("Nothing to undo: minibatch/ is the course's version.")
        _print_added(edits)
        return 0
    print("To be undone:", *edits.changed, sep="\n  ")
    if not options.yes and not _confirmed("Undo these edits?"):
        return _nothing_changed()
    copy = restore(root, edits)
    print(f"Undone. Your version is in {copy}.")
    _print_added(edits)
    return 0


def restore(root: Path, edits: Edits) -> Path:
    """Put the changed files back as committed; return the dated folder with the edited files."""
    copy = new_backup(root)
    for path in edits.changed:
        if (root / path).is_file():  # a deleted file leaves nothing to keep
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, copy / path)
    git(root, "checkout", course_commit(root), "--", *edits.changed)
    return copy


def find_edits(root: Path, paths: list[str]) -> Edits:
    """The differences from the course's last commit under `paths`, which are in minibatch/.

    Raises SetupError without git, outside a clone, and for other paths.
    """
    here = Path.cwd()
    paths = [  # relative to the current folder, or else to the root
        (here / path).resolve().relative_to(root).as_posix()
        if (here / path).exists() and (here / path).resolve().is_relative_to(root)
        else path
        for path in paths
    ]
    for path in paths:
        if not (root / path).resolve().is_relative_to(root / "minibatch"):
            raise SetupError(f"{path} is not in minibatch/; this command works only there.")
    if not is_repository(root):
        raise SetupError(
            f"{root} is not a git checkout (a ZIP download, perhaps), so the original files are "
            "not stored here. Compare with a fresh download, or clone the course with git."
        )
    compare, base = ["diff", "--no-renames", "-z", "--name-only"], course_commit(root)
    changed = git(root, *compare, "--diff-filter=a", base, "--", *paths)
    staged = git(root, *compare, "--diff-filter=A", base, "--", *paths)
    untracked = git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", *paths)
    return Edits(names(changed), sorted(names(staged) + names(untracked)))


def _resolve(root: Path, conflicted: list[conflicts.Conflict]) -> int:
    lost, copy = conflicts.resolve(root, conflicted)
    print(f"Repaired. Your version is in {copy}.")
    for path, why in lost.items():
        print(f"  {path}: {why}; see the copy.")
    return 0


def _nothing_changed() -> int:
    print("Nothing was changed. --yes does it without asking.")
    return 1


def _confirmed(question: str) -> bool:
    if not sys.stdin.isatty():
        return False
    return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")


def _print_added(edits: Edits) -> None:
    if edits.added:
        print("Your own files, not changed:", *edits.added, sep="\n  ")
