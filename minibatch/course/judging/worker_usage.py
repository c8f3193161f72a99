"""What a worker uses that no limit of the system counts: its threads, and its files in all.

A file that was removed takes space as long as it is open or mapped. It is counted where Linux shows
it (proc(5)); other systems show no process's files to another one.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import psutil

from minibatch.course.judging.sandbox import FILE_BYTES

# A line of /proc/PID/maps: device and number of a file that was removed. Shared memory without a
# file looks like one, too; it counts as memory.
_REMOVED = re.compile(r"^\S+ \S+ \S+ (\S+ \d+) +(?!/dev/zero)/.* \(deleted\)$", re.MULTILINE)


def num_threads(pid: int) -> int:
    """The threads of a process; 0 if it has ended."""
    try:
        return psutil.Process(pid).num_threads()
    except psutil.Error:
        return 0


def writes_too_much(pid: int, folder: Path, num_files: int, most_bytes: int) -> bool:
    """Whether the files in `folder`, and those that were removed from it, are more than that."""
    if os.path.exists(root := f"/proc/{pid}/root"):  # the folder as the process sees it
        folder = Path(root) / folder.relative_to("/")
    removed = removed_bytes(pid)
    return removed > most_bytes or _is_more(folder, num_files, most_bytes - removed)


def removed_bytes(pid: int) -> int:
    """The most bytes that files may take which were removed and are still open or mapped."""
    open_files: dict[tuple[int, int], int] = {}
    threads = Path(f"/proc/{pid}/task")
    for table in (threads / name / "fd" for name in _names(threads)):  # each may have its own
        for number in _names(table):
            try:
                found = os.stat(table / number)
            except OSError:
                continue  # closed meanwhile
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 0:
                open_files[found.st_dev, found.st_ino] = found.st_blocks * 512
    try:
        maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        maps = ""
    mapped = set(_REMOVED.findall(maps))  # nothing shows how large these are
    return sum(open_files.values()) + len(mapped) * FILE_BYTES


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # it has ended


def _is_more(folder: Path, num_files: int, most_bytes: int) -> bool:
    """Whether `folder` holds more than that, or has a folder that cannot be listed."""
    count = size = 0
    closed: list[OSError] = []
    for where, folders, files in os.walk(folder, onerror=closed.append):
        for name in (*folders, *files):
            count += 1
            try:
                size += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue  # gone meanwhile, or too deep to be told
            if count > num_files or size > most_bytes:
                return True
    return any(isinstance(error, PermissionError) for error in closed)
