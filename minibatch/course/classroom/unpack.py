"""Copies the files of one submission that can be judged: exercises, a patch, edited engine files.

    python -m minibatch.course.classroom.unpack FOLDER-OR-ARCHIVE INTO

It is a separate process, with limits and confined as far as this computer can, because an archive
may be hostile, too. Files are chosen by name and copied; none is run, no link is followed. The
answer is a line of JSON: {"names": […], "ours": […]} or {"error": "…"}; `ours` are the names of
files that are the course's own solutions.
"""

from __future__ import annotations

import ast
import json
import re
import stat
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath

from minibatch.course.exercises.hand_in import NAME
from minibatch.course.exercises.source import PATCH, SOLUTIONS, all_tasks
from minibatch.course.judging import sandbox
from minibatch.course.judging.plain_text import plain
from minibatch.course.judging.worker_files import MOST_FILE_BYTES, PYTHON_FILE

_ENOUGH = MOST_FILE_BYTES + 1
MOST_IN_ALL = 16 * 2**20
MOST_ENTRIES = 5000  # of one submission; more are an error
MEMORY_BYTES, SECONDS = 2**30, 20.0
_EXERCISE = re.compile(r"ex\d\d_\w+\.py|arena_(policy|router)\.py")
_OURS = {"solutions", "tests", "lessons", "__MACOSX"}  # parts of the course, not a student's work

# A path within a submission, and how to read the file there.
Entries = Iterator[tuple[str, Callable[[], bytes]]]


class Unreadable(Exception):
    """This submission cannot be judged; the message says why."""


def unpack(path: Path, into: Path) -> list[str]:
    """Copy the files that can be judged; returns their names. Raises Unreadable."""
    try:
        names = _copied(_entries(path), into)
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable("it cannot be read: it takes too much memory") from None
    except Exception as error:  # archives break in many ways
        raise Unreadable(f"it cannot be read: {error}"[:300]) from None
    if not any(_EXERCISE.fullmatch(name) or name == PATCH for name in names):
        raise Unreadable("it holds no exercise file (ex01_….py)")
    return names


def _copied(entries: Entries, into: Path) -> list[str]:
    """Of several exercise files with one name, the uppermost counts, and helpers beside it."""
    rooms = {room for task in all_tasks().values() for room in task.may_change}
    found: dict[str, tuple[int, bytes]] = {}
    beside: dict[str, list[tuple[str, bytes]]] = {}
    home = None
    num_bytes = 0
    for place, read in entries:
        path = PurePosixPath(place.replace("\\", "/"))
        target = _target(path, rooms)
        if target is None:
            continue
        depth = len(path.parts) - len(PurePosixPath(target).parts)
        if target in found and found[target][0] <= depth:
            continue
        content = read()
        num_bytes += len(content)
        if len(content) > MOST_FILE_BYTES:
            raise Unreadable(f"{path.name} is larger than {MOST_FILE_BYTES:,} bytes")
        if num_bytes > MOST_IN_ALL:
            raise Unreadable(f"its files have more than {MOST_IN_ALL:,} bytes together")
        if _EXERCISE.fullmatch(target) or "/" in target or not target.endswith(".py"):
            found[target] = depth, content
        else:
            beside.setdefault(str(path.parent), []).append((target, content))
        if _EXERCISE.fullmatch(target) and (home is None or depth < home[0]):
            home = depth, str(path.parent)
    for name, content in beside.get(home[1], []) if home else []:
        found.setdefault(name, (0, content))
    for name, (_, content) in found.items():
        (into / name).parent.mkdir(parents=True, exist_ok=True)
        (into / name).write_bytes(content)
    return sorted(found)


def _target(path: PurePosixPath, rooms: set[str]) -> str | None:
    """The name of this file in the copy; None if it is not copied."""
    folders = path.parts[:-1]
    if _is_left_out(path.parts):
        return None
    if "minibatch" in folders and path.suffix == ".py":
        inside = path.parts[folders.index("minibatch") :]
        in_rooms = "/".join(inside[:2]) in rooms and all(map(_is_name, inside))
        return "/".join(inside) if in_rooms else None
    is_wanted = path.name in (PATCH, NAME) or PYTHON_FILE.fullmatch(path.name)
    return path.name if is_wanted else None


def _is_left_out(parts: Iterable[str]) -> bool:
    """Whether it is hidden, as .venv is, or a part of the course, not a student's work."""
    return any(part in _OURS or part.startswith(".") for part in parts if part != "..")


def _is_name(part: str) -> bool:
    return bool(re.fullmatch(r"\w+(\.py)?", part))


def _entries(path: Path) -> Entries:
    if path.is_symlink():
        raise Unreadable("it is a link")
    if path.is_dir():
        return _in_folder(path)
    if not path.is_file():
        raise Unreadable("it is neither a file nor a folder")  # a pipe has no end
    if zipfile.is_zipfile(path) or path.suffix.lower() == ".zip":
        return _in_zip(path)
    if re.search(r"\.(tar|tgz|tbz2?|txz|tar\.\w+)$", path.name.lower()):
        return _in_tar(path)
    if path.suffix.lower() in (".py", ".ipynb", ".patch"):
        raise Unreadable("it is a single file; there must be a folder or a zip for each student")
    raise Unreadable(
        f"a {path.suffix or 'nameless kind of'} file is not read here; hand in a folder, a zip or "
        "a tar.gz (`python -m minibatch handin` makes a zip)"
    )


def _in_folder(folder: Path) -> Entries:
    waiting, seen = [folder], 0
    while waiting:
        for path in sorted(waiting.pop(0).iterdir()):
            if _is_left_out([path.name]):
                continue
            seen += 1
            if seen > MOST_ENTRIES:
                raise Unreadable(f"it has more than {MOST_ENTRIES:,} files and folders")
            kind = path.lstat().st_mode
            if stat.S_ISDIR(kind):
                waiting.append(path)
            elif stat.S_ISREG(kind):
                yield path.relative_to(folder).as_posix(), lambda path=path: _start(path)


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_ENOUGH)


def _in_zip(path: Path) -> Entries:
    with zipfile.ZipFile(path) as archive:
        entries = [e for e in archive.infolist() if not _is_left_out(_parts(e.filename))]
        if len(entries) > MOST_ENTRIES:
            raise Unreadable(f"it has more than {MOST_ENTRIES:,} files and folders")
        for entry in entries:
            if entry.is_dir() or stat.S_ISLNK(entry.external_attr >> 16):
                continue
            # the size in the entry may be false
            yield entry.filename, lambda entry=entry: archive.open(entry).read(_ENOUGH)


def _in_tar(path: Path) -> Entries:
    with tarfile.open(path, "r|*") as archive:
        seen = 0
        for entry in archive:
            if _is_left_out(_parts(entry.name)):
                continue
            seen += 1
            if seen > MOST_ENTRIES:
                raise Unreadable(f"it has more than {MOST_ENTRIES:,} files and folders")
            if entry.isreg():
                yield entry.name, lambda entry=entry: archive.extractfile(entry).read(_ENOUGH)


def _parts(place: str) -> tuple[str, ...]:
    return PurePosixPath(place.replace("\\", "/")).parts


def ours(folder: Path, names: Iterable[str]) -> list[str]:
    """Of these files, the course's own solutions: the same program, whatever its comments and
    blank lines."""
    found = []
    for name in names:
        solution = SOLUTIONS / name
        if name.endswith(".py") and "/" not in name and solution.is_file():
            theirs, own = (each.read_bytes() for each in (folder / name, solution))
            if theirs == own or _tree(theirs) == _tree(own):
                found.append(name)
    return found


def _tree(source: bytes) -> str:
    try:
        return ast.dump(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return repr(source)


def main(path: str, into: str) -> None:
    """Print the answer."""
    sandbox.limit(MEMORY_BYTES, SECONDS, MOST_FILE_BYTES)
    sandbox.enter([path, SOLUTIONS], own=into)  # the tasks are read there
    try:
        names = unpack(Path(path), Path(into))
        answer = {"names": names, "ours": ours(Path(into), names)}
    except Unreadable as error:
        answer = {"error": plain(str(error))}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(*sys.argv[1:])
