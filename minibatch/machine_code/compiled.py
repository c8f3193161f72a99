"""What numba and ptxas make of a kernel, for any GPU, without that GPU: the lab cannot see it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from unittest.mock import Mock, patch

import numpy as np

REGISTERS = 65_536  # of a multiprocessor; a thread's number is rounded up to a multiple of 8
ROOM = {  # threads and thread blocks of a multiprocessor, by compute capability (NVIDIA, CUDA C++
    (7, 5): (1024, 16),  # Programming Guide, technical specifications)
    (8, 0): (2048, 32),
    (8, 6): (1536, 16),
    (8, 9): (1536, 24),
    (9, 0): (2048, 32),
    (10, 0): (2048, 32),
    (12, 0): (1536, 24),
}
LOAD = re.compile(r"\bld\.global\S*?(?:\.v(\d))?\.[a-z]+(\d+)\s")


@dataclass(frozen=True)
class Compiled:
    """A kernel for one compute capability: the PTX by numba, and the messages of ptxas.

    registers: of a thread. stack: bytes of local memory of a thread; local: instructions that
    access it, without spills. float64: instructions on 64-bit floats. loads: of global memory,
    instructions in the code, not in a run: {bytes of a lane: how many}. cubin: the machine code.
    """

    ptx: str
    log: str
    capability: tuple[int, int]
    cubin: bytes = b""

    registers = property(lambda self: int(re.search(r"Used (\d+) registers", self.log)[1]))
    stack = property(lambda self: sum(map(int, re.findall(r"(\d+) bytes stack frame", self.log))))
    local = property(lambda self: len(re.findall(r"\b(?:ld|st)\.local\b", self.ptx)))
    float64 = property(lambda self: len(re.findall(r"\.f64\s+%", self.ptx)))

    @property
    def loads(self) -> dict[int, int]:
        return dict(Counter(int(n or 1) * int(bits) // 8 for n, bits in LOAD.findall(self.ptx)))

    def thread_blocks(self, threads: int) -> int:
        """How many thread blocks of `threads` threads fit on a multiprocessor. Shared memory is
        not counted."""
        return min(self._room(threads).values())

    def limit(self, threads: int) -> str:
        """The resource that limits thread blocks of `threads` threads."""
        room = self._room(threads)
        return min(room, key=room.__getitem__)

    def _room(self, threads: int) -> dict[str, int]:
        """How many thread blocks fit under each limit alone."""
        most_threads, most = ROOM[self.capability]
        taken = -(-self.registers // 8) * 8 * -(-threads // 32) * 32
        by_threads, by_registers = most_threads // threads, REGISTERS // taken
        return {"thread blocks": most, "threads": by_threads, "registers": by_registers}

    def __str__(self) -> str:
        loads = ", ".join(f"{n} of {wide} bytes" for wide, n in sorted(self.loads.items()))
        local = f"{self.stack} bytes of stack, used by {self.local} instructions"
        return (
            f"{'{}.{}'.format(*self.capability):>4}: {self.registers} registers, "
            f"{local if self.stack or self.local else 'no stack'}, "
            f"{self.float64 or 'no'} float64 instructions, load instructions: {loads or 'none'}"
        )


def compiled(
    kernel: Callable, arguments: Sequence[object], capabilities: Sequence[tuple[int, int]] = ()
) -> list[Compiled]:
    """A kernel compiled for arguments of these types, for each of the compute capabilities, by
    default all in ROOM. Raises RuntimeError if the compiler is not installed."""
    from numba.core import types
    from numba.np.numpy_support import from_dtype

    def kind(value: object) -> object:
        if isinstance(value, np.ndarray):
            return types.Array(from_dtype(value.dtype), value.ndim, "C")
        return types.float32 if isinstance(value, float | np.floating) else types.int64

    kernel, signature = getattr(kernel, "py_func", kernel), tuple(map(kind, arguments))
    try:
        return [compiled_for(kernel, signature, each) for each in capabilities or ROOM]
    except ImportError:
        raise RuntimeError(
            "there is no compiler for GPUs here: python -m minibatch setup --numba-cuda installs it"
        ) from None


def compiled_for(kernel: Callable, signature: tuple, capability: tuple[int, int]) -> Compiled:
    """A kernel compiled for one compute capability. signature: numba types of the arguments.
    Raises ImportError if the compiler is not installed."""
    from cuda import core
    from numba import cuda

    device = Mock(return_value=Mock(compute_capability=capability))  # asked for a helper's code
    with patch("numba.cuda.dispatcher.get_current_device", device):
        ptx, _ = cuda.compile_ptx(kernel, signature, cc=capability, fastmath=True)
    ptx = ptx.decode() if isinstance(ptx, bytes) else ptx
    options = core.LinkerOptions(arch="sm_{}{}".format(*capability), ptxas_options=["-v"])
    linker = core.Linker(core.ObjectCode.from_ptx(ptx.encode()), options=options)
    cubin = linker.link("cubin").code
    return Compiled(ptx, linker.get_info_log(), capability, cubin)
