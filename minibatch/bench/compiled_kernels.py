"""`python -m minibatch bench kernels --compiled`: the compiler's output for the tiled kernel.

numba and ptxas compile also for GPUs that are not here. Shown are the registers of a thread, its
stack (0, unless local memory is used), the 16-byte loads of one round of the loop, and how many
warps of such threads fit into a multiprocessor's registers. This is not a measure of speed.
"""

import re
from itertools import product

from ..machine_code.compiled import REGISTERS, ROOM, Compiled, compiled_for
from ..machine_code.in_flight import loops

CAPABILITIES = [*ROOM]
SHAPES = [(64, 4), (80, 3), (128, 1), (128, 4), (128, 8), (256, 5)]  # head_dim, group
KV_HEADS, BLOCK_SIZE, NUM_THREADS = 8, 16, 128
WARP = 32


def warps(code: Compiled) -> int:
    """Warps that fit into a multiprocessor's registers, which are allocated in eights."""
    return REGISTERS // (-(-code.registers // 8) * 8 * WARP)


def wide_loads(code: Compiled, inside: str) -> int:
    """Number of 16-byte loads in the innermost loop with this instruction."""
    loop = "\n".join(loop_of(code, inside))
    return len(re.findall(r"ld\.global(?:\.\w+)*\.v4\.[a-z]+32", loop))


def loop_of(code: Compiled, inside: str) -> list[str]:
    """The innermost loop around the first `inside`: from its label to the jump back."""
    lines = code.ptx.splitlines()
    at = next(i for i, line in enumerate(lines) if inside in line)
    start, end = max(loop for loop in loops(lines) if loop[0] <= at <= loop[1])
    return lines[start : end + 1]


def tiled(
    stored: str,
    capability: tuple[int, int],
    head_dim: int,
    group: int,
    split: bool,
    tokens: int = 1,
):
    """(tiling, Compiled) of the tiled kernel. stored: "float32", "float16" or "bfloat16"."""
    from numba.core import types

    from ..attention.cuda.tiled import make_tiled
    from ..attention.cuda.tiling import plan_tiling

    kind = {"float32": types.float32, "float16": types.float16, "bfloat16": types.int16}[stored]
    itemsize = 4 if stored == "float32" else 2
    shape = (head_dim, BLOCK_SIZE, KV_HEADS, group, itemsize, NUM_THREADS, capability, tokens)
    tiling = plan_tiling(*shape)

    def array(kind, ndim):
        return types.Array(kind, ndim, "C")

    metadata = array(types.int32, 2), array(types.int64, 1), array(types.int32, 2), types.float32
    output = array(types.float32, 4) if split else array(kind, 3)
    part = array(types.float32, 3)
    signature = (*(array(kind, 1),) * 3, *metadata, output, part, part)
    return tiling, compiled_for(make_tiled(tiling, split), signature, capability)


def print_table() -> None:
    """A line for each shape and compute capability, in bfloat16."""
    print("bfloat16, chunks cut; registers and stack of a thread, bytes")
    print("head_dim  group  capability  lines  registers  stack  16-byte loads  warps")
    for (head_dim, group), capability in product(SHAPES, CAPABILITIES):
        tiling, code = tiled("bfloat16", capability, head_dim, group, True)
        name = ".".join(map(str, capability))
        print(
            f"{head_dim:8} {group:6} {name:>11} {tiling.lines:6} {code.registers:10} "
            f"{code.stack:6} {wide_loads(code, 'shfl'):14} {warps(code):6}",
            flush=True,
        )
