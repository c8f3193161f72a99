"""`python -m minibatch update`: the course's newest lessons, with the learner's work kept.

In a clone, the new course comes by git; in a ZIP download, from a newer ZIP (--from). Then each
file that the learner has changed is merged (merge_file.py). All that a learner wrote is copied to
backups/ before the first file changes.
"""

import argparse
import os
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from minibatch.course.changes.merge_file import merge_file, same
from minibatch.course.changes.versions import Files, committed, read_version, stubs
from minibatch.course.setup import ROOT
from minibatch.course.setup.backups import new_backup
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import (
    course_commit,
    git,
    in_the_middle_of,
    is_repository,
    set_filter,
    unmerged,
)

_MOST_LISTED = 12


@dataclass(slots=True)
class Changes:
    """The planned changes of an update, file by file."""

    write: dict[str, bytes | None] = field(default_factory=dict)  # None: remove it
    kept: list[str] = field(default_factory=list)  # the learner's, or both sides' work
    unfit: dict[str, str] = field(default_factory=dict)  # path -> why it does not fit
    mine: Files = field(default_factory=dict)  # the learner's versions of files that differ


def main(arguments: list[str], root: Path = ROOT) -> int:
    """Bring the course up to date; 0 also if nothing is new. Raises SetupError if it cannot."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch update",
        description="Get the newest lessons, and keep your work. Changes that do not fit the new "
        "version are kept in backups/.",
    )
    parser.add_argument(
        "--from",
        dest="source",
        type=Path,
        metavar="FILE.zip|DIR",
        help="for a ZIP download: a newer one, or the folder it was unpacked in",
    )
    options = parser.parse_args(arguments)
    if not os.access(root, os.W_OK):
        raise SetupError(f"{root} cannot be written to. Its owner must update it.")
    if is_repository(root):
        if options.source:
            raise SetupError("This is a clone: git gets the new version. Leave --from out.")
        return _pull(root)
    if options.source is None:
        raise SetupError(
            f"{root} is a ZIP download: it does not know where it came from. Download the newer "
            "ZIP from the same page, then: python -m minibatch update --from FILE.zip"
        )
    new = read_version(options.source)
    changes = compare(root, stubs(root), new, is_whole=False)
    copy = _back_up(root, changes, new)
    _write(root, changes.write)
    _print_result(changes, copy)
    return 0


def compare(
    root: Path, old: Files, new: Files, mine: Files | None = None, is_whole: bool = True
) -> Changes:
    """What must change in `root` to have `new`, where the learner began with `old`.

    mine: the learner's versions of files in which a pull has left conflict marks. is_whole: `old`
    has every file; if not, files that are not in `new` are left alone.
    """
    changes = Changes()
    for path in sorted(new.keys() | (old.keys() if is_whole else set())):
        began, theirs, file = old.get(path), new.get(path), root / path
        yours = (mine or {}).get(path, file.read_bytes() if file.is_file() else None)
        if yours is None or same(yours, began):
            if theirs != yours:
                changes.write[path] = theirs
        elif same(yours, theirs):
            if mine and path in mine:
                changes.write[path] = theirs
        else:
            merged = merge_file(path, began, yours, theirs)
            changes.mine[path] = yours
            changes.write[path] = merged.content
            if merged.lost and _may_be_learners_edit(path, is_whole):
                changes.unfit[path] = merged.lost
            elif not merged.lost:
                changes.kept.append(path)
    return changes


def _pull(root: Path) -> int:
    if word := in_the_middle_of(root):
        raise SetupError(
            f"git is in the middle of a {word}. `git {word} --abort` restores what you had; then "
            "run this again."
        )
    try:
        git(root, "rev-parse", "@{upstream}")
    except SetupError:
        raise SetupError(
            "This branch does not follow a branch of the course: git branch "
            "--set-upstream-to=origin/main"
        ) from None
    print("Looking for a new version.", flush=True)
    try:
        git(root, "fetch", "--quiet")
    except SetupError as error:
        raise SetupError(
            f"{error}\nNothing was changed. An update needs a network connection."
        ) from None
    base, target = course_commit(root), git(root, "rev-parse", "@{upstream}").strip()
    head, conflicted = git(root, "rev-parse", "HEAD").strip(), unmerged(root)
    set_filter(root)
    if base == target and not conflicted:
        print("Nothing new: you have the newest version.")
        return 0
    old, new = committed(root, base), committed(root, target)
    old = {path: content for path, content in old.items() if path not in conflicted}
    old |= {path: stages[1] for path, stages in conflicted.items() if 1 in stages}
    mine = {path: stages[3] for path, stages in conflicted.items() if 3 in stages}
    changes = compare(root, old, new, mine)
    copy = _back_up(root, changes, new)
    if head != base:
        branch = f"before-update-{datetime.now():%Y-%m-%d-%H%M%S}"
        git(root, "branch", branch, head)
        print(f'Your own commits are kept in the branch "{branch}".')
    git(root, "reset", "--quiet", target)  # first the index, so that the learner's own files stay
    git(root, "reset", "--quiet", "--hard")
    _write(root, {p: c for p, c in changes.write.items() if c is None or p in changes.mine})
    count = git(root, "rev-list", "--count", f"{base}..{target}").strip()
    print(f"{count} new commit{'s'[: count != '1']}, up to: {_subject(root)}")
    _print_result(changes, copy)
    return 0


def _subject(root: Path) -> str:
    return git(root, "log", "-1", "--format=%s (%cs)").strip()


def _may_be_learners_edit(path: str, is_whole: bool) -> bool:
    """Whether to report it: without git, an older page of the course looks like an edit."""
    return is_whole or path.startswith(("exercises/", "lessons/", "minibatch/"))


def _back_up(root: Path, changes: Changes, new: Files) -> Path | None:
    if not changes.mine:
        return None
    copy = new_backup(root)
    _write(copy, changes.mine)
    theirs = {p: new[p] for p in changes.unfit if changes.write[p] == changes.mine[p] and p in new}
    _write(copy / "of-the-course", theirs)
    print(f"Copied your files to {copy}.", flush=True)
    return copy


def _write(root: Path, contents: dict[str, bytes | None]) -> None:
    for path, content in contents.items():
        file = root / path
        if content is None:
            file.unlink(missing_ok=True)
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_bytes() != content:
            file.write_bytes(content)


def _print_result(changes: Changes, copy: Path | None) -> None:
    if changes.kept:
        print("Kept, with your changes:", *changes.kept, sep="\n  ")
    if changes.unfit:
        print(f"Some of your changes do not fit the new version; they are in {copy}:")
        lines = [f"  {path}: {why}" for path, why in changes.unfit.items()]
        if len(lines) > _MOST_LISTED:
            lines[_MOST_LISTED:] = [f"  and {len(lines) - _MOST_LISTED} more files"]
        print(*lines, sep="\n")
    if any(path.endswith(".ipynb") for path in changes.write):
        print("If a lesson is open in JupyterLab: File, Reload Notebook from Disk.")
    print("Up to date.")
