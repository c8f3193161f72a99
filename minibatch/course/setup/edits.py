"""Shows and undoes a learner's edits in minibatch/, by git: the course asks learners to make them.

"Edits" are what differs from the last commit. Files a learner added are theirs: named, never
touched.
"""

import argparse
import shutil
import subprocess
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from minibatch.course.setup import ROOT
from minibatch.course.setup.environment import SetupError

BACKUPS = "backups"


@dataclass(frozen=True, slots=True)
class Edits:
    """The paths under minibatch/ that differ from the last commit, relative to the root."""

    changed: list[str]  # committed files that were edited or deleted
    added: list[str]  # files that the last commit does not have


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
        print("No edits: minibatch/ is as the course has it.")
        return 0
    if edits.changed:
        sys.stdout.flush()
        style = ["--stat"] if options.stat else []
        subprocess.run(["git", "-C", root, "diff", *style, "HEAD", "--", *edits.changed])
    _name_added(edits)
    return 0


def restore_main(arguments: list[str], root: Path = ROOT) -> int:
    """`python -m minibatch restore [path ...] [--yes]`: undo the edits, keeping a dated copy."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch restore",
        description=f"Undo your edits in minibatch/. A copy of what you had is kept in {BACKUPS}/.",
    )
    parser.add_argument("paths", nargs="*", default=["minibatch"], help="only these files")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    options = parser.parse_args(arguments)
    edits = find_edits(root, options.paths)
    if not edits.changed:
        print("Nothing to undo: minibatch/ is as the course has it.")
        _name_added(edits)
        return 0
    print("To be undone:", *edits.changed, sep="\n  ")
    if not options.yes and not _agreed():
        print("Nothing was changed. With --yes it is done without asking.")
        return 1
    copy = restore(root, edits)
    print(f"Undone. What you had is in {copy}.")
    _name_added(edits)
    return 0


def restore(root: Path, edits: Edits) -> Path:
    """Put the changed files back as committed; return the dated folder with what they were."""
    stem = datetime.now().strftime("%Y-%m-%d-%H%M%S")
    backups = root / BACKUPS
    taken = sum(1 for _ in backups.glob(f"{stem}*"))
    copy = backups / (f"{stem}-{taken + 1}" if taken else stem)
    copy.mkdir(parents=True)
    for path in edits.changed:
        if (root / path).is_file():  # a deleted file leaves nothing to keep
            (copy / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / path, copy / path)
    _git(root, "checkout", "HEAD", "--", *edits.changed)
    return copy


def find_edits(root: Path, paths: list[str]) -> Edits:
    """What differs from the last commit under `paths`, which lie in minibatch/.

    Raises SetupError without git, without a checkout of our own, and for other paths.
    """
    here = Path.cwd()
    paths = [  # as seen from the folder one stands in, or else from the root
        (here / path).resolve().relative_to(root).as_posix()
        if (here / path).exists() and (here / path).resolve().is_relative_to(root)
        else path
        for path in paths
    ]
    for path in paths:
        if not (root / path).resolve().is_relative_to(root / "minibatch"):
            raise SetupError(f"{path} is not in minibatch/; this command looks only there.")
    if not (root / ".git").exists():
        raise SetupError(
            f"{root} is not a git checkout (a ZIP download, perhaps), so nothing here remembers "
            "how the files were. Compare with a fresh download, or clone the course with git."
        )
    compare = ["diff", "--no-renames", "-z", "--name-only"]
    changed = _git(root, *compare, "--diff-filter=a", "HEAD", "--", *paths)
    staged = _git(root, *compare, "--diff-filter=A", "HEAD", "--", *paths)
    untracked = _git(root, "ls-files", "-z", "--others", "--exclude-standard", "--", *paths)
    return Edits(_names(changed), sorted(_names(staged) + _names(untracked)))


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments], capture_output=True, encoding="utf-8"
        )
    except FileNotFoundError:
        raise SetupError("git is not installed; it is what remembers how the files were.") from None
    if done.returncode != 0:
        raise SetupError(f"git {arguments[0]} failed: {done.stderr.strip()}")
    return done.stdout


def _names(listing: str) -> list[str]:
    return [name for name in listing.split("\0") if name]


def _agreed() -> bool:
    if not sys.stdin.isatty():
        return False
    return input("Undo these edits? [y/N] ").strip().lower() in ("y", "yes")


def _name_added(edits: Edits) -> None:
    if edits.added:
        print("Files of your own, left as they are:", *edits.added, sep="\n  ")
