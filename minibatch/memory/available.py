"""How much memory a process may still take. Set-up asks before anything is installed, so only what
the system itself tells is used, but on macOS.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

CGROUPS = Path("/sys/fs/cgroup")


def available_bytes() -> int | None:
    """What is free, a container's limit heeded; None where nothing tells.

    On macOS, where only psutil knows what is free, what is installed until psutil is there.
    """
    if sys.platform == "win32":
        return _windows()
    if sys.platform == "darwin" and find_spec("psutil"):
        return import_module("psutil").virtual_memory().available
    try:
        installed = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return None
    free = [
        int(line.split()[1]) * 1024
        for line in _lines(Path("/proc/meminfo"))
        if line.startswith("MemAvailable:")
    ]
    return max(0, min([installed, *free, *_left_by_limits()]))


def _left_by_limits() -> Iterator[int]:
    """What each control group that this process is in, as in a container, still lets it have.

    Files that the kernel merely keeps in memory are counted as used there, and given up when asked
    for; they count as free here. (Linux, cgroup v2, memory.max, memory.current, memory.stat)
    """
    own = [line.partition("::")[2] for line in _lines(Path("/proc/self/cgroup"))]
    path = Path(*[part for part in (own[0] if own else "").split("/") if part])
    for group in (path, *path.parents):
        limit, used = (_lines(CGROUPS / group / f"memory.{name}") for name in ("max", "current"))
        if limit and used and limit[0].isdigit():
            stat = dict(line.split() for line in _lines(CGROUPS / group / "memory.stat"))
            yield int(limit[0]) - int(used[0]) + int(stat.get("inactive_file", 0))


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _windows() -> int | None:
    """The `ullAvailPhys` of GlobalMemoryStatusEx: two 32-bit fields, then seven of 64 bits."""
    status = (ctypes.c_uint64 * 8)()
    ctypes.c_uint32.from_buffer(status).value = ctypes.sizeof(status)  # dwLength comes first
    if not ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None
    return status[2]
