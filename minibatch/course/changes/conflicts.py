"""Repairs files in which a `git pull` has left both sides' lines with conflict marks.

git itself reports such a pull as a success: "Applying autostash resulted in conflicts", status 0.
"""

from dataclasses import dataclass
from pathlib import Path

from minibatch.course.changes.merge_file import merge_file
from minibatch.course.setup.backups import new_backup
from minibatch.course.setup.conflict_marks import marked_files, sides
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git, git_bytes, in_the_middle_of, is_repository, unmerged


@dataclass(frozen=True, slots=True)
class Conflict:
    """One file. base: what the learner began with; mine: what the learner had; course: what the
    course has. None if there is no such version."""

    path: str
    base: bytes | None
    mine: bytes | None
    course: bytes | None


def find(root: Path) -> list[Conflict]:
    """The conflicts in a clone, whether git still lists them or not."""
    if not is_repository(root):
        return []
    conflicted = unmerged(root)
    found = [Conflict(path, s.get(1), s.get(3), s.get(2)) for path, s in conflicted.items()]
    for path, _ in marked_files(root):
        if path not in conflicted:
            upper, lower = sides((root / path).read_text(encoding="utf-8", errors="replace"))
            try:
                course = git_bytes(root, "show", f"HEAD:{path}")
            except SetupError:
                continue  # a file of the learner's own
            # For a lesson, the cells that the learner began with are no longer known.
            base = None if path.endswith(".ipynb") else upper.encode()
            found.append(Conflict(path, base, lower.encode(), course))
    return found


def resolve(root: Path, conflicts: list[Conflict]) -> tuple[dict[str, str], Path]:
    """Merge each file. Returns {path: why the learner's version does not fit}, and the folder with
    copies of all learner's versions. Raises SetupError in the middle of a rebase or merge."""
    word = in_the_middle_of(root)
    if word:
        raise SetupError(
            f"git is in the middle of a {word}: `git {word} --abort` restores what you had; then "
            "run `python -m minibatch update`."
        )
    copy, lost = new_backup(root), {}
    for conflict in conflicts:
        kept = copy / conflict.path
        kept.parent.mkdir(parents=True, exist_ok=True)
        file = root / conflict.path
        broken = file.read_bytes() if file.is_file() else b""
        kept.write_bytes(broken if conflict.mine is None else conflict.mine)
        git(root, "reset", "--quiet", "--", conflict.path)
        content = conflict.course
        if conflict.mine is not None:
            merged = merge_file(conflict.path, conflict.base, conflict.mine, conflict.course)
            content, lost[conflict.path] = merged.content, merged.lost
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(content)
    return {path: why for path, why in lost.items() if why}, copy
