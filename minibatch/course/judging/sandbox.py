"""The limits that a worker sets on itself before it reads a learner's file.

`limit` bounds memory, processor time and files, where the system supports it. `enter`, on Linux, is
for submissions of strangers: no network, no other process, no signal; only Python, this package and
the submission are readable, and only the worker's own folder is writable. It does not need
privileges, and cannot be undone.

It uses Linux's own interfaces, by ctypes: Landlock (landlock(7)) for files, seccomp(2) for system
calls (in system_calls.py) and, as a second barrier where containers allow it, user namespaces
(unshare(2)).
"""

import ctypes
import os
import struct
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from minibatch.course.judging.system_calls import restrict_system_calls
from minibatch.course.setup import ROOT

NAMESPACES, FILES, SYSTEM_CALLS = "user and network namespaces", "Landlock", "seccomp"

PARTS = (NAMESPACES, FILES, SYSTEM_CALLS)
NEEDED = (FILES, SYSTEM_CALLS)  # without both, there is no sandbox

_PR_SET_PDEATHSIG = 1
_NEW_USER, _NEW_NETWORK, _NEW_IPC, _NEW_MOUNTS = 0x10000000, 0x40000000, 0x08000000, 0x20000
_RECURSIVE_PRIVATE, _NO_DEVICES = 0x44000, 0b110  # mount(2): MS_REC | MS_PRIVATE; no set-uid either
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_READ, _READ_FILE_ONLY, _WRITE_FILE = 0b1101, 0b101, 0b10  # execute, read file, read folder
_LIST = 0b1000
_OWN = 0b100000110111110  # read, write, list, remove and make files and folders, shorten them
MOST_ABI = 6  # of Landlock
FILE_BYTES = 16 * 2**20  # the largest file that a worker may write
_SETS = {  # by ABI: file rights, TCP rights and scopes there are
    1: (13, 0, 0),
    2: (14, 0, 0),
    3: (15, 0, 0),
    4: (15, 2, 0),
    5: (16, 2, 0),
    6: (16, 2, 2),
}


def limit(
    memory_bytes: int,
    seconds: float,
    file_bytes: int = FILE_BYTES,
    cpu_seconds: float | None = None,
) -> None:
    """Bound this process's memory, processor time and files permanently; no effect on Windows.

    seconds: of wall-clock time, during which all cores may be busy. cpu_seconds: of processors, if
    it may use fewer.
    """
    try:
        import resource
    except ImportError:
        return
    if cpu_seconds is None:
        cpu_seconds = seconds * (os.cpu_count() or 1) + 10
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_CPU, int(cpu_seconds)),
        (resource.RLIMIT_NOFILE, 256),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        later = 1 if kind == resource.RLIMIT_CPU and most != hard else 0  # SIGXCPU, then SIGKILL
        try:
            resource.setrlimit(kind, (most, most + later))
        except (ValueError, OSError):
            continue  # macOS does not bound address space


def enter(
    readable: Iterable[str | Path] = (),
    listable: Iterable[str | Path] = (),
    own: str | Path | None = None,
    own_bytes: int = 0,
    most_abi: int = MOST_ABI,
    namespaces: bool = True,
) -> list[str]:
    """Enter the sandbox; the process also ends when the process that started it ends.

    readable: files and folders that it may still read; listable: folders whose names it may list,
    without reading the files; own: a folder in which it may also write. own_bytes: mount a file
    system of that size there, which only this process sees, if namespaces are in force: files that
    were removed and are still open or mapped then count, too. Call it while the process has one
    thread. most_abi, namespaces: tests lower them, to be an older kernel or a container. Returns
    which of NAMESPACES, FILES, SYSTEM_CALLS are in force now.
    """
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    _no_new_privileges(libc)
    holds = []
    user = os.getuid(), os.getgid()
    if namespaces and libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC | _NEW_MOUNTS) == 0:
        holds.append(NAMESPACES)
        if own and own_bytes:
            _mount(libc, str(own), own_bytes, *user)
    rights = {str(path): _LIST for path in listable}
    rights |= {str(path): _READ for path in (*readable, *_PYTHON)} | {
        "/dev/null": _READ | _WRITE_FILE
    }
    if _restrict_files(libc, rights | ({str(own): _OWN} if own else {}), most_abi):
        holds.append(FILES)
    libc.prctl(_PR_SET_PDEATHSIG, 9, 0, 0, 0)  # after unshare, which would reset it
    if restrict_system_calls(libc):
        holds.append(SYSTEM_CALLS)
    return holds


@cache
def supported() -> tuple[str, ...]:
    """Which parts of the sandbox this computer supports: it tries them in a new process."""
    program = f"from {__name__} import enter; print(*enter([]), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    return tuple(part for part in PARTS if part in done.stdout.splitlines())


def missing() -> list[str]:
    """The parts of NEEDED that this computer does not support."""
    return [part for part in NEEDED if part not in supported()]


_PYTHON = [  # files that an interpreter and its libraries read
    sys.prefix,
    sys.base_prefix,
    *("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/zoneinfo"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom", "/proc/self"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system"),
]


def _mount(libc: ctypes.CDLL, folder: str, num_bytes: int, user: int, group: int) -> None:
    """A file system of that size on `folder`, in memory, unless the system refuses it."""
    try:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    except OSError:
        return
    libc.mount(None, b"/", None, ctypes.c_ulong(_RECURSIVE_PRIVATE), None)
    size = f"size={num_bytes},nr_inodes=5000,mode=700".encode()
    if libc.mount(b"own", os.fsencode(folder), b"tmpfs", ctypes.c_ulong(_NO_DEVICES), size) == 0:
        os.chdir(folder)


def _no_new_privileges(libc: ctypes.CDLL) -> None:
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, required by the other two


def _restrict_files(libc: ctypes.CDLL, rights: dict[str, int], most_abi: int) -> bool:
    abi = min(most_abi, libc.syscall(_CREATE_RULESET, None, 0, 1))
    if abi < 1:
        return False
    file_rights, tcp_rights, scopes = (2**n - 1 for n in _SETS[abi])
    attributes = struct.pack("=QQQ", file_rights, tcp_rights, scopes)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = libc.syscall(_CREATE_RULESET, attributes, size, 0)
    if rules < 0:
        return False
    for path, right in rights.items():
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        if not os.path.isdir(path):
            right &= _READ_FILE_ONLY | _WRITE_FILE
        rule = struct.pack("=Qi", right & file_rights, handle)
        libc.syscall(_ADD_RULE, rules, 1, rule, 0)
        os.close(handle)
    done = libc.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)
    return done == 0
