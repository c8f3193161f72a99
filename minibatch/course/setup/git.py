"""Asks git about the course's checkout, in a way that does not depend on whose it is or how their
git is set up: another user's clone, a read-only one, any settings for diffs and line endings.
"""

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from minibatch.course.setup.findings import SetupError

_SETTINGS = {
    "core.quotePath": "off",
    "core.autocrlf": "input",  # lines that end as on Windows compare as ours
    "core.safecrlf": "false",
    "core.fileMode": "false",
    "core.excludesFile": os.devnull,  # what somebody never wants to commit may be part of an answer
    "core.fsmonitor": "false",
    "color.ui": "false",
    "diff.suppressBlankEmpty": "false",
}
_PATCH = [
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--no-relative"),
    *("--full-index", "--unified=3", "--inter-hunk-context=0", "--diff-algorithm=myers"),
    *("--ignore-submodules", "--src-prefix=a/", "--dst-prefix=b/", f"-O{os.devnull}"),
]
_FILTER = "minibatch/course/changes/lesson_file.py"
_KEPT = {"GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_TERMINAL_PROMPT", "GIT_SSL_CAINFO"}


def is_repository(root: Path) -> bool:
    """Whether `root` is a clone; a ZIP download is not."""
    return (root / ".git").exists()


def git(root: Path, *arguments: str, index: "ScratchIndex | None" = None) -> str:
    """What git prints. Raises SetupError with its words if it fails, or if there is no git."""
    return git_bytes(root, *arguments, index=index).decode("utf-8", "replace")


def git_bytes(root: Path, *arguments: str, index: "ScratchIndex | None" = None) -> bytes:
    """The same, as bytes: a file's content."""
    settings = {**_SETTINGS, "safe.directory": root.as_posix()}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    # GIT_DIR and its kind, which a hook or an editor may have set, lead to another repository.
    variables = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT}
    variables["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *options, *arguments],
            capture_output=True,
            env=variables | (index.variables if index else {}),
        )
    except FileNotFoundError:
        raise SetupError("git is not installed; it is what remembers how the files were.") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise SetupError(f"git {arguments[0]} failed: {said or f'status {done.returncode}'}")
    return done.stdout


def names(listing: str) -> list[str]:
    """The paths of a listing that was asked for with -z."""
    return [name for name in listing.split("\0") if name]


def course_commit(root: Path) -> str:
    """The last commit that is the course's: where a learner's own commits began, or else HEAD."""
    try:
        return git(root, "merge-base", "HEAD", "@{upstream}").strip()
    except SetupError:  # no upstream: a clone of nothing, or a branch of one's own
        return git(root, "rev-parse", "HEAD").strip()


def in_the_middle_of(root: Path) -> str:
    """ "rebase" or "merge", if git has stopped within one; or nothing."""
    marks = {"rebase-merge": "rebase", "rebase-apply": "rebase", "MERGE_HEAD": "merge"}
    for name, word in marks.items():
        if (root / git(root, "rev-parse", "--git-path", name).strip()).exists():
            return word
    return ""


class ScratchIndex:
    """An index and an object store of its own, so that asking writes nothing into the clone."""

    def __init__(self, root: Path, folder: Path) -> None:
        objects = Path(git(root, "rev-parse", "--git-path", "objects").strip())
        (folder / "objects").mkdir()
        self.variables = {
            "GIT_INDEX_FILE": str(folder / "index"),
            "GIT_OBJECT_DIRECTORY": str(folder / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str((root / objects).resolve()),
        }


@contextmanager
def scratch_index(root: Path) -> Iterator[ScratchIndex]:
    """A ScratchIndex as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        yield ScratchIndex(root, Path(folder))


def patch(root: Path, folder: str) -> str:
    """The learner's edits in `folder` since the course's last commit, new .py files included.

    The same text whatever the learner's git is set up to print. Writes nothing into the clone.
    """
    base = course_commit(root)
    with scratch_index(root) as index:
        git(root, "read-tree", base, index=index)
        git(root, "add", "--update", "--", folder, index=index)
        git(root, "add", "--all", "--", f"{folder}/*.py", index=index)
        return git(root, "diff", "--cached", *_PATCH, base, "--", folder, index=index)


def set_filter(root: Path) -> None:
    """Tell git to commit lessons without outputs; .gitattributes says which files those are."""
    python = shlex.quote(Path(sys.executable).as_posix())
    if is_repository(root) and os.access(root / ".git", os.W_OK):
        with suppress(SetupError):  # a convenience
            git(root, "config", "filter.minibatch-lesson.clean", f"{python} -I {_FILTER}")


def unmerged(root: Path) -> dict[str, dict[int, bytes]]:
    """The files that a pull has left with conflict marks: what each was, by git's stage.

    1: what the learner began with; 2: the course's; 3: the learner's, out of git's autostash.
    """
    found: dict[str, dict[int, bytes]] = {}
    for line in names(git(root, "ls-files", "--unmerged", "-z")):
        facts, path = line.split("\t", 1)
        _, blob, stage = facts.split()
        found.setdefault(path, {})[int(stage)] = git_bytes(root, "cat-file", "blob", blob)
    return found
