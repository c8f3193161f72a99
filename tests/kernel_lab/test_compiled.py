"""What the compiler makes of a kernel, as the lab tells it. Needs no GPU."""

import sys

import numpy as np
import pytest
from numba import cuda, float32

from minibatch import kernel_lab as lab
from minibatch.kernel_lab.compiled import Compiled

NUMBERS = np.zeros(4, np.float32)


def sum_of(numbers, out):
    total = float32(0)
    for i in range(len(numbers)):
        total += numbers[i]
    out[0] = total


def sum_in_64_bits(numbers, out):
    total = 0.0
    for i in range(len(numbers)):
        total += numbers[i]
    out[0] = total


def by_an_index_known_late(numbers, out):
    found = cuda.local.array(32, float32)
    for i in range(len(numbers)):
        found[int(numbers[i])] += 1
    out[0] = found[3]


@pytest.fixture
def compiler():
    pytest.importorskip("cuda.core", reason="needs numba-cuda[cu13]: setup --numba-cuda")


@pytest.mark.usefixtures("compiler")
def test_float64_a_stack_and_the_width_of_loads_are_told():
    plain, wide, stacked = (
        lab.compiled(kernel, (NUMBERS, NUMBERS), [(9, 0)])[0]
        for kernel in (sum_of, sum_in_64_bits, by_an_index_known_late)
    )
    assert (plain.float64, plain.stack, plain.local) == (0, 0, 0)
    assert set(plain.loads) == {4}
    assert wide.float64 > 0
    assert (stacked.stack, stacked.local > 0) == (128, True)
    assert "no stack, no float64, loads a lane: " in str(plain)
    assert "128 bytes of stack" in str(stacked)


@pytest.mark.usefixtures("compiler")
def test_a_case_compiles_a_kernel_for_its_own_arrays():
    def first_key(key_cache, factor, output):
        output[0, 0, 0] = key_cache[0, 0, 0, 0] * factor

    found = lab.paged_case([1]).compiled(first_key, (np.float32(2),), [(7, 5), (12, 0)])
    assert [each.capability for each in found] == [(7, 5), (12, 0)]


@pytest.mark.parametrize(
    ("registers", "threads", "fit", "limit"),
    [
        (32, 32, 32, "thread blocks"),
        (33, 128, 12, "registers"),
        (32, 256, 8, "threads"),
        (255, 256, 1, "registers"),
        (40, 1024, 1, "registers"),
    ],
)
def test_registers_and_room_limit_the_thread_blocks(registers, threads, fit, limit):
    kernel = Compiled("", f"Used {registers} registers", (9, 0))
    assert (kernel.thread_blocks(threads), kernel.limit(threads)) == (fit, limit)


def test_without_a_compiler_it_says_how_to_get_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    if "cuda" in sys.modules:
        monkeypatch.delattr(sys.modules["cuda"], "core", raising=False)
    with pytest.raises(RuntimeError, match="setup --numba-cuda installs it"):
        lab.compiled(sum_of, (NUMBERS, NUMBERS))
