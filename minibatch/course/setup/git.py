"""Runs git in the course's checkout, independent of its owner and of git's settings: it may be
another user's clone, or read-only, with any settings for diffs and line endings.
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
    "core.autocrlf": "input",  # lines with Windows line ends compare equal to ours
    "core.safecrlf": "false",
    "core.fileMode": "false",
    "core.excludesFile": os.devnull,  # a file that a learner ignores may be part of an answer
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
    """git's output. Raises SetupError with its message if it fails, or if there is no git."""
    return git_bytes(root, *arguments, index=index).decode("utf-8", "replace")


def git_bytes(root: Path, *arguments: str, index: "ScratchIndex | None" = None) -> bytes:
    """The same, as bytes: a file's content."""
    settings = {**_SETTINGS, "safe.directory": root.as_posix()}
    options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
    # GIT_DIR and similar variables, set by a hook or an editor, would select another repository.
    variables = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in _KEPT}
    variables["GIT_OPTIONAL_LOCKS"] = "0"
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *options, *arguments],
            capture_output=True,
            env=variables | (index.variables if index else {}),
        )
    except FileNotFoundError:
        raise SetupError("git is not installed; it stores the original files.") from None
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip()
        raise SetupError(f"git {arguments[0]} failed: {message or f'status {done.returncode}'}")
    return done.stdout


def names(listing: str) -> list[str]:
    """The paths of a listing that was asked for with -z."""
    return [name for name in listing.split("\0") if name]


def course_commit(root: Path) -> str:
    """The last commit of the course: before a learner's own commits, or else HEAD."""
    try:
        return git(root, "merge-base", "HEAD", "@{upstream}").strip()
    except SetupError:  # no upstream: a repository that was not cloned, or a learner's own branch
        return git(root, "rev-parse", "HEAD").strip()


def in_the_middle_of(root: Path) -> str:
    """ "rebase" or "merge", if git has stopped within one; otherwise ""."""
    marks = {"rebase-merge": "rebase", "rebase-apply": "rebase", "MERGE_HEAD": "merge"}
    for name, word in marks.items():
        if (root / git(root, "rev-parse", "--git-path", name).strip()).exists():
            return word
    return ""


class ScratchIndex:
    """A separate index and object store, so that a command does not write into the clone."""

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
    """A ScratchIndex, removed at the end of the `with` block."""
    with tempfile.TemporaryDirectory() as folder:
        yield ScratchIndex(root, Path(folder))


def patch(root: Path, folder: str) -> str:
    """The learner's edits in `folder` since the course's last commit, new .py files included.

    The text does not depend on the learner's git settings. It does not write into the clone.
    """
    base = course_commit(root)
    with scratch_index(root) as index:
        git(root, "read-tree", base, index=index)
        git(root, "add", "--update", "--", folder, index=index)
        git(root, "add", "--all", "--", f"{folder}/*.py", index=index)
        return git(root, "diff", "--cached", *_PATCH, base, "--", folder, index=index)


def set_filter(root: Path) -> None:
    """Configure git to commit lessons without outputs; .gitattributes names these files."""
    python = shlex.quote(Path(sys.executable).as_posix())
    if is_repository(root) and os.access(root / ".git", os.W_OK):
        with suppress(SetupError):  # only a convenience
            git(root, "config", "filter.minibatch-lesson.clean", f"{python} -I {_FILTER}")


def unmerged(root: Path) -> dict[str, dict[int, bytes]]:
    """The files that a pull has left with conflict marks: {path: {stage: content}}.

    Stage 1: what the learner began with; 2: the course's; 3: the learner's, from git's autostash.
    """
    found: dict[str, dict[int, bytes]] = {}
    for line in names(git(root, "ls-files", "--unmerged", "-z")):
        facts, path = line.split("\t", 1)
        _, blob, stage = facts.split()
        found.setdefault(path, {})[int(stage)] = git_bytes(root, "cat-file", "blob", blob)
    return found
