"""Files that a `git pull` has left with both sides' lines and marks between them, made whole again.

git itself calls such a pull a success: "Applying autostash resulted in conflicts", status 0.
"""

from dataclasses import dataclass
from pathlib import Path

from minibatch.course.changes.merge_file import settle
from minibatch.course.setup.backups import new_backup
from minibatch.course.setup.conflict_marks import marked_files, sides
from minibatch.course.setup.findings import SetupError
from minibatch.course.setup.git import git, git_bytes, in_the_middle_of, is_repository, unmerged


@dataclass(frozen=True, slots=True)
class Conflict:
    """One file: what the learner began with, what the learner had, what the course has."""

    path: str
    base: bytes | None
    mine: bytes | None
    course: bytes | None


def find(root: Path) -> list[Conflict]:
    """What there is to mend in a clone, whether git still knows of the conflict or not."""
    if not is_repository(root):
        return []
    muddled = unmerged(root)
    found = [Conflict(path, s.get(1), s.get(3), s.get(2)) for path, s in muddled.items()]
    for path, _ in marked_files(root):
        if path not in muddled:
            upper, lower = sides((root / path).read_text(encoding="utf-8", errors="replace"))
            try:
                course = git_bytes(root, "show", f"HEAD:{path}")
            except SetupError:
                continue  # a file of the learner's own
            # Of a lesson nobody knows any more which cells the learner began with.
            base = None if path.endswith(".ipynb") else upper.encode()
            found.append(Conflict(path, base, lower.encode(), course))
    return found


def mend(root: Path, conflicts: list[Conflict]) -> tuple[dict[str, str], Path]:
    """Settle each file; returns why a learner's does not fit, and the folder that has all of it."""
    word = in_the_middle_of(root)
    if word:
        raise SetupError(
            f"git is in the middle of a {word}: `git {word} --abort` puts back what you had; "
            "then `python -m minibatch update` brings what is new."
        )
    copy, lost = new_backup(root), {}
    for conflict in conflicts:
        kept = copy / conflict.path
        kept.parent.mkdir(parents=True, exist_ok=True)
        file = root / conflict.path
        muddle = file.read_bytes() if file.is_file() else b""
        kept.write_bytes(muddle if conflict.mine is None else conflict.mine)
        git(root, "reset", "--quiet", "--", conflict.path)
        content = conflict.course
        if conflict.mine is not None:
            settled = settle(conflict.path, conflict.base, conflict.mine, conflict.course)
            content, lost[conflict.path] = settled.content, settled.lost
        if content is None:
            file.unlink(missing_ok=True)
        else:
            file.write_bytes(content)
    return {path: why for path, why in lost.items() if why}, copy
