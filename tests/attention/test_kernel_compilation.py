"""What numba and ptxas make of the kernels, for GPUs that need not be here: PTX, and machine code
from compute capability 7.5 to 12.0."""

import re
from itertools import product

import pytest

cuda_core = pytest.importorskip("cuda.core", reason="needs numba-cuda[cu13]: setup --numba-cuda")

from numba.core import types  # noqa: E402

from minibatch.attention.cuda.shim import cuda  # noqa: E402
from minibatch.attention.cuda.simple import paged_attention_simple  # noqa: E402
from minibatch.attention.cuda.tiled import make_tiled, merge_parts, plan_tiling  # noqa: E402
from minibatch.attention.cuda.write_kv import write_kv  # noqa: E402

STORED = {"float32": types.float32, "float16": types.float16, "bfloat16": types.int16}
CAPABILITIES = [(7, 5), (8, 0), (8, 6), (8, 9), (9, 0), (10, 0), (12, 0)]
SHAPES = [
    (64, 4),
    (80, 3),
    (128, 1),
    (128, 4),
    (128, 8),
    (256, 5),
]  # head_dim, query heads per KV head
REGISTERS = 65_536  # of a multiprocessor
MOST_REGISTERS = 64  # of a thread: 1,024 threads of a multiprocessor have room


def covering(chosen, *choices):
    """All combinations; those that are not chosen are slow. Every choice is in one that is."""
    for column, each in zip(zip(*chosen, strict=True), choices, strict=True):
        assert set(column) == set(each)
    return [
        pytest.param(*each, marks=[] if each in chosen else pytest.mark.slow, id=name_of(each))
        for each in product(*choices)
    ]


def name_of(each):
    return " ".join(map(str, each))


SMALL = covering(
    [("float32", (7, 5)), ("float16", (9, 0)), ("bfloat16", (12, 0))],
    *(STORED, [(7, 5), (9, 0), (12, 0)]),
)
TILED = covering(
    [  # the heaviest of each: bfloat16 has most to unpack, and 12.0 has gone wrong first
        ("bfloat16", (7, 5), (64, 4), "tiled"),
        ("float32", (8, 0), (256, 5), "tiled"),
        ("bfloat16", (8, 6), (128, 8), "split"),
        ("float16", (8, 9), (128, 4), "tiled"),
        ("bfloat16", (9, 0), (128, 8), "tiled"),
        ("bfloat16", (10, 0), (80, 3), "split"),
        ("bfloat16", (12, 0), (128, 1), "tiled"),
    ],
    *(STORED, CAPABILITIES, SHAPES, ["tiled", "split"]),
)


def array(kind, ndim):
    return types.Array(kind, ndim, "C")


METADATA = (array(types.int32, 2), array(types.int32, 1), array(types.int64, 1), types.float32)


def compiled(kernel, signature, capability):
    """(PTX, what ptxas says of registers, stack and spills)."""
    ptx, _ = cuda.compile_ptx(kernel, signature, cc=capability, fastmath=True)
    ptx = ptx.decode() if isinstance(ptx, bytes) else ptx
    options = cuda_core.LinkerOptions(
        arch=f"sm_{capability[0]}{capability[1]}", ptxas_options=["-v"]
    )
    linker = cuda_core.Linker(cuda_core.ObjectCode.from_ptx(ptx.encode()), options=options)
    linker.link("cubin")
    return ptx, linker.get_info_log()


def checked(ptx, log):
    """What holds for every kernel; returns its registers a thread."""
    assert ".f64" not in ptx
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in log
    return int(re.search(r"Used (\d+) registers", log)[1])


def loop_of(ptx, inside):
    """The innermost loop around the first `inside`: from its label to the jump back."""
    lines = ptx.splitlines()
    at = next(i for i, line in enumerate(lines) if inside in line)
    labels = {line.strip(": \t"): i for i, line in enumerate(lines) if line.startswith("$L__")}
    jumps = [(i, re.search(r"\$L__\w+", line)) for i, line in enumerate(lines) if "bra" in line]
    loops = [(labels[j[0]], i) for i, j in jumps if j and labels[j[0]] <= at <= i]
    start, end = max(loops)
    return lines[start : end + 1]


def not_addresses(loop):
    """64-bit arithmetic that no address needs: divisions and remainders."""
    return [line for line in loop if re.search(r"\b(div|rem)\.[su]64", line)]


@pytest.mark.parametrize(("stored", "capability"), SMALL)
def test_the_simple_kernel(stored, capability):
    kind = STORED[stored]
    signature = (array(kind, 3), array(kind, 4), array(kind, 4), *METADATA, array(kind, 3))
    ptx, log = compiled(paged_attention_simple, signature, capability)
    assert checked(ptx, log) <= MOST_REGISTERS
    assert "shfl" not in ptx  # no warp intrinsics
    assert not_addresses(loop_of(ptx, "fma.rn")) == []


@pytest.mark.parametrize(("stored", "capability", "shape", "kernel"), TILED)
def test_the_tiled_kernel(stored, capability, shape, kernel):
    (head_dim, group), split = shape, kernel == "split"
    kind = STORED[stored]
    out = array(types.float32, 4) if split else array(kind, 3)
    part = array(types.float32, 3)
    signature = (*(array(kind, 1),) * 3, *METADATA, out, part, part)
    itemsize = 4 if stored == "float32" else 2
    tiling = plan_tiling(
        head_dim, 16, 8, group, itemsize, num_threads=128, compute_capability=capability
    )
    ptx, log = compiled(make_tiled(tiling, group, split), signature, capability)
    registers = checked(ptx, log)
    assert (
        REGISTERS // (128 * (-(-registers // 8) * 8)) >= 2
    )  # two thread blocks on a multiprocessor
    wide = re.findall(r"ld\.global\.v4\.[a-z]+32", ptx)
    assert len(wide) >= 2 * tiling.at_once * tiling.pieces  # K and V of every token at once
    loop = loop_of(ptx, "shfl")
    assert len(re.findall(r"ld\.global\.v4", "\n".join(loop))) == 2 * tiling.at_once * tiling.pieces
    assert not_addresses(loop) == []
    assert ".local" not in ptx  # q, result, keys and values are in registers


@pytest.mark.parametrize(("stored", "capability"), SMALL)
def test_the_merge(stored, capability):
    kind, part = STORED[stored], array(types.float32, 3)
    signature = (array(types.float32, 4), part, part, array(kind, 3))
    assert checked(*compiled(merge_parts, signature, capability)) <= MOST_REGISTERS


@pytest.mark.parametrize("capability", [(7, 5), (12, 0)], ids=str)
def test_write_kv(capability):
    words = array(types.int32, 2)
    signature = (words, array(types.int64, 1), words)
    assert checked(*compiled(write_kv, signature, capability)) <= MOST_REGISTERS
