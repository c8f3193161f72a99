"""The system calls that the sandbox allows: a filter for seccomp(2), in classic BPF."""

import ctypes
import platform
import struct
import sys
from collections import namedtuple

_EPERM, _ENOSYS = 1, 38

# System calls that a worker may not use: other processes and signals; sockets, mounts, keys; memory
# that no limit counts (shared segments, files without a name); and, since Landlock does not cover
# them, owners, modes, times and attributes of files; and `fallocate`, which takes disk space faster
# than the judge counts it. For some calls, arguments decide: _filter.
_Calls = namedtuple("_Calls", "architecture clone prlimit prctl fcntl ioctl open openat denied")
_ARCHITECTURES = {
    "x86_64": _Calls(
        0xC000003E,
        clone=56,
        prlimit=302,
        prctl=157,
        fcntl=72,
        ioctl=16,
        open=2,
        openat=257,
        denied=(57, 58, 59, 322, 62, 200, 234, 129, 297, 424, 41, 53, 101, 310, 311, 425, 272, 308)
        + (165, 321, 250, 76, 90, 91, 268, 452, 92, 93, 94, 260, 132, 235, 261, 280, 188, 189, 190)
        + (197, 198, 199, 463, 466, 428, 429, 430, 442, 155, 161, 203, 142, 144, 314, 141, 251)
        + (319, 447, 29, 30, 68, 64, 240, 434, 438, 440, 448, 256, 279, 312, 298, 323, 248, 249)
        + (285,),
    ),
    "aarch64": _Calls(
        0xC00000B7,
        clone=220,
        prlimit=261,
        prctl=167,
        fcntl=25,
        ioctl=29,
        open=None,
        openat=56,
        denied=(221, 281, 129, 130, 131, 138, 240, 424, 198, 199, 117, 270, 271, 425, 97, 268, 40)
        + (280, 219, 45, 52, 53, 452, 54, 55, 88, 5, 6, 7, 14, 15, 16, 463, 466, 428, 429, 430)
        + (442, 41, 51, 122, 118, 119, 274, 140, 30, 279, 447, 194, 196, 186, 190, 180, 434, 438)
        + (440, 448, 238, 239, 272, 241, 282, 217, 218, 47),
    ),
}
_CLONE3, _OPENAT2, _CLONE_THREAD = 435, 437, 0x10000
_SIGNAL_AT_THE_JUDGES_END, _DUMPABLE = 1, 4  # of prctl; what is not dumpable hides its open files
# Commands that make the kernel send signals to another process: Landlock forbids it from ABI 6 on.
_SET_OWNER = {"fcntl": (8, 10, 15), "ioctl": (0x8901, 0x8902, 0x5452)}  # F_SETOWN, SIG, OWN_EX
_O_TRUNC, _O_ACCMODE, _WRITES = 0o1000, 0b11, (1, 2)  # O_WRONLY, O_RDWR


def restrict_system_calls(libc: ctypes.CDLL) -> bool:
    """Refuse this process, for ever, what a worker may not do; returns whether that is in force."""
    if platform.machine() not in _ARCHITECTURES or sys.byteorder != "little":
        return False
    program = _filter(_ARCHITECTURES[platform.machine()])
    code = b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
    buffer = ctypes.create_string_buffer(code)
    header = struct.pack("@HP", len(program), ctypes.addressof(buffer))
    return libc.prctl(22, 2, header, 0, 0) == 0  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER


def _filter(calls: _Calls) -> list[tuple[int, int, int, int]]:
    """A classic BPF program over seccomp_data: number at 0, architecture at 4, arguments from 16.

    Each instruction: code, jump if true, jump if false (in instructions to skip), constant.
    Arguments decide for some calls. `clone` makes threads only. `prlimit` is for the process
    itself. `prctl`, `fcntl` and `ioctl` have commands that are refused. `open` shortens a file only
    if it may write there: Landlock before ABI 3 does not cover this.
    """
    load, equal, at_least, bits, mask, answer = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
    allow, kill, no, absent = 0x7FFF0000, 0x80000000, 0x50000 | _EPERM, 0x50000 | _ENOSYS
    first, second, third = 16, 24, 32

    def rule(number: int, place: int, *steps: tuple) -> list:
        """For this call: load the argument at `place`, run the steps, and allow it at their end."""
        steps = [(load, 0, 0, place), *steps, (answer, 0, 0, allow)]
        return [(equal, 0, len(steps), number), *steps]

    def refused(number: int, place: int, values: tuple[int, ...]) -> list:
        return rule(
            number, place, *(s for v in values for s in [(equal, 0, 1, v), (answer, 0, 0, no)])
        )

    def opens(number: int, place: int) -> list:
        writes = [s for v in _WRITES for s in [(equal, 0, 1, v), (answer, 0, 0, allow)]]
        steps = [(mask, 0, 0, _O_ACCMODE), *writes, (answer, 0, 0, no)]
        return rule(number, place, (bits, 0, len(steps), _O_TRUNC), *steps)

    return [
        (load, 0, 0, 4),
        (equal, 1, 0, calls.architecture),
        (answer, 0, 0, kill),
        (load, 0, 0, 0),
        (at_least, 0, 1, 0x40000000),  # x32, the other ABI of an x86-64 kernel
        (answer, 0, 0, kill),
        # a filter cannot see the flags of these; libraries then use `clone` and `openat`
        *(step for n in (_CLONE3, _OPENAT2) for step in [(equal, 0, 1, n), (answer, 0, 0, absent)]),
        *(step for n in calls.denied for step in [(equal, 0, 1, n), (answer, 0, 0, no)]),
        *rule(calls.clone, first, (bits, 1, 0, _CLONE_THREAD), (answer, 0, 0, no)),
        *rule(calls.prlimit, first, (equal, 1, 0, 0), (answer, 0, 0, no)),
        *refused(calls.prctl, first, (_SIGNAL_AT_THE_JUDGES_END, _DUMPABLE)),
        *refused(calls.fcntl, second, _SET_OWNER["fcntl"]),
        *refused(calls.ioctl, second, _SET_OWNER["ioctl"]),
        *(opens(calls.open, second) if calls.open else []),
        *opens(calls.openat, third),
        (answer, 0, 0, allow),
    ]
