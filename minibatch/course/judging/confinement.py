"""What a desk may no longer do, imposed by the desk on itself before it reads a learner's file.

`limit` bounds memory and file sizes, where the system can: for one's own code. `seal`, on Linux, is
for code of strangers: no network, no other process, no signal, nothing readable but Python, this
package and the submission, nothing writable at all. It takes no privileges, and cannot be undone.

Linux's own interfaces, by ctypes: user namespaces (unshare(2)), Landlock (landlock(7)) for files,
seccomp(2) for system calls. What a kernel lacks is left out, and said: `seal` returns what holds.
"""

import ctypes
import os
import platform
import struct
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from minibatch.course.setup import ROOT

NAMESPACES, FILES, SYSTEM_CALLS = "user and network namespaces", "Landlock", "seccomp"

SEAL = (NAMESPACES, FILES, SYSTEM_CALLS)

_EPERM, _ENOSYS = 1, 38
_NEW_USER, _NEW_NETWORK, _NEW_IPC = 0x10000000, 0x40000000, 0x08000000
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_READ, _READ_FILE_ONLY, _WRITE_FILE = 0b1101, 0b101, 0b10  # execute, read file, read folder
_SETS = {  # by ABI: file rights, TCP rights and scopes there are
    1: (13, 0, 0),
    2: (14, 0, 0),
    3: (15, 0, 0),
    4: (15, 2, 0),
    5: (16, 2, 0),
    6: (16, 2, 2),
}

# Not for a desk: other processes, signals, sockets, mounts; and what Landlock leaves alone, the
# owners, modes, times and attributes of files. Threads are made by `clone`, looked at more closely.
_ARCHITECTURES = {
    "x86_64": (
        0xC000003E,
        56,
        (57, 58, 59, 322, 62, 200, 234, 129, 297, 424, 41, 53, 101, 310, 311, 425, 272, 308, 165)
        + (321, 250, 76, 90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190)
        + (197, 198, 199, 463, 466, 428, 429, 430, 442, 155, 161),
    ),
    "aarch64": (
        0xC00000B7,
        220,
        (221, 281, 129, 130, 131, 138, 240, 424, 198, 199, 117, 270, 271, 425, 97, 268, 40)
        + (280, 219, 45, 52, 53, 452, 54, 55, 88, 5, 6, 7, 14, 15, 16, 463, 466)
        + (428, 429, 430, 442, 41, 51),
    ),
}
_CLONE3, _CLONE_THREAD = 435, 0x10000


def limit(memory_bytes: int, file_bytes: int = 16 * 2**20) -> None:
    """Bound this process's memory and the files it writes; nothing on Windows."""
    try:
        import resource
    except ImportError:
        return
    for kind, most in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_FSIZE, file_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, hard))
        except (ValueError, OSError):
            continue  # macOS does not bound address space


def seal(readable: Iterable[str | Path]) -> list[str]:
    """Shut this process in. readable: files and folders that it may go on reading.

    To be called while it has one thread. Returns which of NAMESPACES, FILES, SYSTEM_CALLS hold now.
    """
    if not sys.platform.startswith("linux"):
        return []
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    _no_new_privileges(libc)
    holds = []
    if libc.unshare(_NEW_USER | _NEW_NETWORK | _NEW_IPC) == 0:
        holds.append(NAMESPACES)
    if _restrict_files(libc, [*readable, *_PYTHON]):
        holds.append(FILES)
    if _restrict_system_calls(libc):
        holds.append(SYSTEM_CALLS)
    return holds


def what_holds() -> list[str]:
    """Which parts of the seal this computer can impose: tried on a process made for it."""
    program = f"from {__name__} import seal; print(*seal([]), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    return [part for part in SEAL if part in done.stdout.splitlines()]


_PYTHON = [  # what an interpreter and its libraries read
    sys.prefix,
    sys.base_prefix,
    *("/usr/lib", "/usr/lib64", "/lib", "/lib64", "/usr/local/lib", "/usr/share/zoneinfo"),
    *("/etc/ld.so.cache", "/etc/localtime", "/dev/null", "/dev/urandom", "/proc/self"),
    *("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/sys/devices/system"),
]


def _no_new_privileges(libc: ctypes.CDLL) -> None:
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS, which the two others ask for


def _restrict_files(libc: ctypes.CDLL, readable: Iterable[str | Path]) -> bool:
    abi = libc.syscall(_CREATE_RULESET, None, 0, 1)
    if abi < 1:
        return False
    file_rights, tcp_rights, scopes = (2**n - 1 for n in _SETS[min(abi, max(_SETS))])
    attributes = struct.pack("=QQQ", file_rights, tcp_rights, scopes)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    rules = libc.syscall(_CREATE_RULESET, attributes, size, 0)
    if rules < 0:
        return False
    for path in readable:
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        rights = _READ if Path(path).is_dir() else _READ_FILE_ONLY
        if str(path) == "/dev/null":
            rights |= _WRITE_FILE
        rule = struct.pack("=Qi", rights, handle)
        libc.syscall(_ADD_RULE, rules, 1, rule, 0)
        os.close(handle)
    done = libc.syscall(_RESTRICT_SELF, rules, 0)
    os.close(rules)
    return done == 0


def _restrict_system_calls(libc: ctypes.CDLL) -> bool:
    if platform.machine() not in _ARCHITECTURES or sys.byteorder != "little":
        return False
    architecture, clone, denied = _ARCHITECTURES[platform.machine()]
    program = _filter(architecture, clone, denied)
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    return libc.prctl(22, 2, header, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _filter(
    architecture: int, clone: int, denied: tuple[int, ...]
) -> list[tuple[int, int, int, int]]:
    """A classic BPF program over seccomp_data: number at 0, architecture at 4, arguments from 16.

    Each instruction: code, jump if true, jump if false (in instructions to skip), constant.
    """
    load, equal, at_least, bits, answer = 0x20, 0x15, 0x35, 0x45, 0x06
    allow, kill, no, absent = 0x7FFF0000, 0x80000000, 0x50000 | _EPERM, 0x50000 | _ENOSYS
    return [
        (load, 0, 0, 4),
        (equal, 1, 0, architecture),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),
        (at_least, 0, 1, 0x40000000),  # x32, the other way to call an x86-64 kernel
        (answer, 0, 0, kill),
        (equal, 0, 1, _CLONE3),
        (answer, 0, 0, absent),  # whose flags a filter cannot see: libraries then take `clone`
        *(
            (i, *rest)
            for number in denied
            for i, *rest in [(equal, 0, 1, number), (answer, 0, 0, no)]
        ),
        (equal, 0, 3, clone),
        (load, 0, 0, 16),
        (bits, 1, 0, _CLONE_THREAD),
        (answer, 0, 0, no),
        (answer, 0, 0, allow),
    ]
