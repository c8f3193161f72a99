"""What two compilers make of the kernels, for GPUs that need not be here: PTX, and machine code
from compute capability 7.5 to 12.0.

`setup --numba-cuda` installs the newest compiler, `setup --cuda` the one of PyTorch's CUDA."""

import re
from itertools import product
from pathlib import Path

import pytest

pytest.importorskip("cuda.core", reason="needs numba-cuda[cu13]: setup --numba-cuda")

from numba.core import types  # noqa: E402
from second_compiler import library, second_compiler  # noqa: E402

from minibatch.attention.cuda.merge import merge_chunks  # noqa: E402
from minibatch.attention.cuda.simple import paged_attention_simple  # noqa: E402
from minibatch.attention.cuda.tiling import MOST_RESIDENT  # noqa: E402
from minibatch.attention.cuda.write_kv import write_kv  # noqa: E402
from minibatch.bench.compiled_kernels import (  # noqa: E402
    CAPABILITIES,
    NUM_THREADS,
    SHAPES,
    WARP,
    loop_of,
    tiled,
    warps,
    wide_loads,
)
from minibatch.course import setup  # noqa: E402
from minibatch.machine_code.compiled import compiled_for  # noqa: E402

STORED = {"float32": types.float32, "float16": types.float16, "bfloat16": types.int16}
STEPS = {8: 3, 16: 4, 32: 5}  # of adding up a number over so many lanes
MOST_REGISTERS = 64  # of a thread: 1,024 threads of a multiprocessor have room


def covering(chosen, *choices):
    """All combinations; those that are not chosen are slow."""
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
        ("float32", (12, 0), (80, 3), "tiled"),
        ("bfloat16", (9, 0), (128, 1), "tiled"),
        ("bfloat16", (10, 0), (80, 3), "split"),
        ("bfloat16", (12, 0), (128, 8), "tiled"),
    ],
    *(STORED, CAPABILITIES, SHAPES, ["tiled", "split"]),
)


def array(kind, ndim):
    return types.Array(kind, ndim, "C")


METADATA = (array(types.int32, 2), array(types.int32, 1), array(types.int64, 1), types.float32)
WORDS = array(types.int32, 2)
WRITE_KV = (WORDS, WORDS, array(types.int64, 1), WORDS, WORDS)


@pytest.fixture(scope="module", params=["--numba-cuda", "--cuda"])
def compiler(request):
    """call(function, *arguments) with the compiler that this option of `setup` installs."""
    if request.param == "--numba-cuda":
        yield lambda function, *arguments: function(*arguments)
    elif library() is None:
        pytest.skip("needs the compiler of setup --cuda: .ci/second-compiler")
    else:
        with second_compiler() as call:
            yield call


def compiled(compiler, *arguments):
    return compiler(compiled_for, *arguments)


def check(code):
    """What holds for every kernel."""
    assert ".f64" not in code.ptx
    assert "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads" in code.log


def not_addresses(loop):
    """64-bit arithmetic that no address needs: divisions and remainders."""
    return [line for line in loop if re.search(r"\b(div|rem)\.[su]64", line)]


@pytest.mark.parametrize("compiler", ["--cuda"], indirect=True)
def test_the_second_compiler_is_the_one_that_set_up_installs_for_a_gpu(compiler):
    lock = (Path(setup.__file__).parent / "locks" / "cuda.txt").read_text(encoding="utf-8")
    ptx = compiled(compiler, write_kv, WRITE_KV, (9, 0)).ptx
    assert re.search(r"V([\d.]+)", ptx)[1] == re.search(r"nvidia-nvvm==([\d.]+)", lock)[1]


@pytest.mark.parametrize(("stored", "capability"), SMALL)
def test_the_simple_kernel(compiler, stored, capability):
    kind = STORED[stored]
    signature = (array(kind, 3), array(kind, 4), array(kind, 4), *METADATA, array(kind, 3))
    code = compiled(compiler, paged_attention_simple, signature, capability)
    check(code)
    assert code.registers <= MOST_REGISTERS
    assert "shfl" not in code.ptx  # no warp intrinsics
    assert not_addresses(loop_of(code, "fma.rn")) == []


@pytest.mark.parametrize(("stored", "capability", "shape", "kernel"), TILED)
def test_the_tiled_kernel(compiler, stored, capability, shape, kernel):
    check_tiled(*compiler(tiled, stored, capability, *shape, kernel == "split"))


@pytest.mark.parametrize(
    ("capability", "tokens"),
    covering([((12, 0), 8)], CAPABILITIES, [2, 4, 8]),
)
def test_the_tiled_kernel_for_a_token_and_its_guesses(compiler, capability, tokens):
    tiling, code = compiler(tiled, "bfloat16", capability, 128, 1, True, tokens)
    assert tiling.tokens == min(tokens, 8 if capability >= (9, 0) else 4)
    check_tiled(tiling, code)


def check_tiled(tiling, code):
    check(code)
    fitting = warps(code) // (NUM_THREADS // WARP)  # thread blocks on a multiprocessor
    assert fitting >= 2
    assert 0 <= min(MOST_RESIDENT, fitting) - tiling.resident <= 1  # an estimate; never too many
    assert wide_loads(code, "shfl") == 2 * tiling.at_once * tiling.pieces  # K and V, all at once
    loop, one_by_one = loop_of(code, "shfl"), tiling.at_once * tiling.lines * STEPS[tiling.lanes]
    shuffles = sum("shfl" in line for line in loop)
    assert shuffles < one_by_one or tiling.lines == 1  # several lines' scores are added up together
    assert not_addresses(loop) == []
    assert code.local == 0  # q, result, keys and values are in registers


@pytest.mark.parametrize(("stored", "capability"), SMALL)
def test_the_merge(compiler, stored, capability):
    kind, part = STORED[stored], array(types.float32, 3)
    signature = (array(types.float32, 4), part, part, array(types.int32, 2), array(kind, 3))
    code = compiled(compiler, merge_chunks, signature, capability)
    check(code)
    assert code.registers <= MOST_REGISTERS


@pytest.mark.parametrize("capability", [(7, 5), (12, 0)], ids=str)
def test_write_kv(compiler, capability):
    code = compiled(compiler, write_kv, WRITE_KV, capability)
    check(code)
    assert code.registers <= MOST_REGISTERS
