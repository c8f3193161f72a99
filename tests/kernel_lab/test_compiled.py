"""What the compiler makes of a kernel, as the lab tells it. Needs no GPU."""

import sys

import numpy as np
import pytest
from numba import cuda, float32

from minibatch import kernel_lab as lab
from minibatch.machine_code.compiled import Compiled
from minibatch.machine_code.in_flight import (
    bytes_in_flight,
    bytes_needed,
    bytes_of_a_lane,
    machine_code,
)

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
    assert "no stack, no float64 instructions, load instructions: " in str(plain)
    assert "128 bytes of stack" in str(stacked)


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("factor", [0.5, np.float32(0.5), np.float64(0.5)])
def test_a_fraction_is_compiled_as_float32(factor):
    def scaled(query, output, factor):
        output[0, 0, 0] = query[0, 0, 0] * factor

    (found,) = lab.compiled(scaled, (NUMBERS.reshape(4, 1, 1),) * 2 + (factor,), [(9, 0)])
    (by_case,) = lab.paged_case([1]).compiled(scaled, capabilities=[(9, 0)], factor=factor)
    assert (found.float64, by_case.float64) == (0, 0)


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


K, V = "LDG.E R4, desc[UR4][R6.64]", "LDG.E.128 R8, desc[UR4][R20.64]"
USE_K, USE_V = "FMUL R2, R1, R4", "@!P1 FFMA R3, R2, R11, R3"
ENTRY, ADDRESS = "LDG.E R5, desc[UR4][R22.64]", "IMAD.WIDE R6, R5, 0x10, RZ"
BACK = "@P0 BRA `(.L_x_1)"


def listed(*instructions):
    return "\n".join(f"        /*0000*/     {each} ;" for each in instructions)


@pytest.mark.parametrize(
    ("in_a_loop", "most"),
    [
        ((K, V, USE_K, USE_V), 20),
        ((K, USE_K, V, USE_V), 16),  # the warp waits for K before it asks for V
        ((USE_K, USE_V, K, V), 20),  # for the next round
        ((ENTRY, ADDRESS, K, USE_K), 4),
        ((ADDRESS, K, ENTRY, USE_K), 4),  # ... of the next round: not a number
        ((USE_K,), 0),
    ],
)
def test_a_load_is_under_way_until_its_register_is_named(in_a_loop, most):
    code = f"{listed(V)}\n.L_x_1:\n{listed(*in_a_loop, BACK, 'EXIT')}"
    assert bytes_of_a_lane(code) == most
    assert bytes_of_a_lane(listed(K, V)) == 0  # no loop


def test_a_jump_back_from_behind_the_end_is_not_a_loop():
    code = f".L_x_1:\n{listed(K)}\n.L_x_2:\n{listed(V, USE_K, USE_V, BACK, 'EXIT')}"
    assert bytes_of_a_lane(f"{code}\n{listed('BRA `(.L_x_2)')}") == 20


@pytest.mark.usefixtures("compiler")
def test_a_kernel_s_bytes_in_flight_are_read_from_its_machine_code():
    (compiled,) = lab.compiled(sum_of, (NUMBERS, NUMBERS), [(9, 0)])
    try:
        a_lane = bytes_of_a_lane(machine_code(compiled))  # the compiler may unroll the loop
    except RuntimeError as missing:
        pytest.skip(str(missing))
    assert a_lane in (4, 8, 16, 32)
    assert bytes_in_flight(compiled, 32) == a_lane * 32 * 32


@pytest.mark.usefixtures("compiler")
def test_without_nvdisasm_it_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr("cuda.pathfinder.find_nvidia_binary_utility", lambda name: None)
    with pytest.raises(RuntimeError, match="nvdisasm.*setup --numba-cuda installs it"):
        bytes_in_flight(Compiled("", "Used 32 registers", (9, 0)), 32)


def test_without_a_compiler_it_says_how_to_get_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    if "cuda" in sys.modules:
        monkeypatch.delattr(sys.modules["cuda"], "core", raising=False)
    with pytest.raises(RuntimeError, match="setup --numba-cuda installs it"):
        lab.compiled(sum_of, (NUMBERS, NUMBERS))


@cuda.jit
def doubled(number):
    return number * float32(2)


def twice(source, result):
    result[cuda.threadIdx.x] = doubled(source[cuda.threadIdx.x])


@pytest.mark.usefixtures("compiler")
def test_a_kernel_may_call_a_device_function():
    (found,) = lab.compiled(twice, (NUMBERS, NUMBERS), [(9, 0)])
    assert (found.float64, found.stack) == (0, 0)
