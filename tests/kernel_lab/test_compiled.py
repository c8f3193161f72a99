"""What the compiler makes of a kernel, as the lab tells it. Needs no GPU."""

import sys

import numpy as np
import pytest
from numba import cuda, float32

from minibatch import kernel_lab as lab
from minibatch.kernel_lab.compiled import Compiled
from minibatch.kernel_lab.in_flight import bytes_in_flight, bytes_needed, bytes_of_a_round

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


def test_little_s_law_gives_what_a_multiprocessor_needs():
    assert bytes_needed("H100", latency_s=1e-6) == pytest.approx(3.35e12 * 1e-6 / 132)
    assert bytes_needed("H200") > bytes_needed("H100")


ROUNDS = """
    ld.global.f32 %f1, [%rd1];
$L__BB0_1:
    ld.global.s32 %rd2, [%rd3];
    ld.global.f32 %f2, [%rd4];
    ld.global.nc.v4.u32 {%r1, %r2, %r3, %r4}, [%rd5];
$L__BB0_2:
    ld.global.f32 %f4, [%rd6];
    @%p1 bra $L__BB0_2;
    @%p2 bra $L__BB0_1;
"""


def test_a_round_s_bytes_are_those_of_its_own_loads_without_the_table_s():
    assert bytes_of_a_round(ROUNDS) == 4 + 16
    assert bytes_of_a_round("ld.global.f32 %f1, [%rd1];") == 0  # no loop
    kernel = Compiled(ROUNDS, "Used 32 registers", (9, 0))
    assert bytes_in_flight(kernel, 32) == 20 * 32 * 32


@pytest.mark.usefixtures("compiler")
def test_a_kernel_s_bytes_in_flight_are_read_from_its_code():
    (compiled,) = lab.compiled(sum_of, (NUMBERS, NUMBERS), [(9, 0)])
    a_lane = bytes_of_a_round(compiled.ptx)  # the compiler may unroll the loop
    assert a_lane in (4, 8, 16, 32)
    assert bytes_in_flight(compiled, 32) == a_lane * 32 * 32


def test_without_a_compiler_it_says_how_to_get_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    if "cuda" in sys.modules:
        monkeypatch.delattr(sys.modules["cuda"], "core", raising=False)
    with pytest.raises(RuntimeError, match="setup --numba-cuda installs it"):
        lab.compiled(sum_of, (NUMBERS, NUMBERS))
