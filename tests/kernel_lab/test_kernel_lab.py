"""The kernel lab: what it computes, what it counts, what it calls wrong, and that it ends."""

import math
import os
import subprocess
import sys
import threading

import faulty_kernels
import numpy as np
import pytest
import torch
from lab_scene import line_of, scene
from numba import cuda, float32, int32, uint32
from work_done import calls

from minibatch import kernel_lab as lab
from minibatch.attention.emulation import Emulation
from minibatch.kernel_lab import arrays, run_kernel, threads
from minibatch.kernel_lab.time_limit import TooLong


def expected(query, keys, values, tables, lengths, _):
    rows = []
    for q, table, length in zip(query.astype(np.float64), tables, lengths, strict=True):
        key, value = (
            pool[table].reshape(-1, 8)[:length].astype(np.float64) for pool in (keys, values)
        )
        weights = np.exp(key @ q - (key @ q).max())
        rows.append(weights @ value / weights.sum())
    return np.array(rows)


# Faults ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", faulty_kernels.FAULTS, ids=lambda kernel: kernel.__name__)
def test_a_planted_fault_is_named_with_its_line(kernel):
    report = lab.run(kernel, 2, 8, *scene())
    kind, line = faulty_kernels.FAULTS[kernel], line_of(kernel, "# here")
    named = {
        (fault.kind, site.line) for fault in report.faults for site in (fault.site, *fault.others)
    }
    assert (kind, line) in named, report
    fault = next(fault for fault in report.faults if fault.kind == kind)
    assert "thread" in fault.sentence
    assert len(fault.thread) == 6


def test_the_right_kernel_has_no_fault_and_the_right_result():
    arguments = scene()
    report = lab.run(faulty_kernels.right, 2, 8, *arguments)
    assert report.faults == []
    np.testing.assert_allclose(arguments[-1], expected(*arguments), rtol=1e-5)


def test_a_fault_is_told_once_and_counted():
    (fault,) = lab.run(faulty_kernels.off_by_one_tail, 1, 8, *scene()).faults
    assert fault.count == 8
    assert (
        fault.sentence
        == "thread 0 of thread block 0 reads values[0, 2, 0], which no thread has written"
    )
    assert (
        str(fault) == f"line {fault.line}: unwritten: {fault.sentence} (the lab found 8 such cases)"
    )


def test_a_shuffle_orders_nothing_and_syncwarp_does():
    def exchange(out):
        cell = cuda.shared.array(32, float32)
        lane = cuda.threadIdx.x
        cell[lane] = lane
        cuda.shfl_xor_sync(0xFFFFFFFF, lane, 1)
        out[lane] = cell[lane ^ 1]

    def exchange_rightly(out):
        cell = cuda.shared.array(32, float32)
        lane = cuda.threadIdx.x
        cell[lane] = lane
        cuda.syncwarp()
        out[lane] = cell[lane ^ 1]

    assert [fault.kind for fault in lab.run(exchange, 1, 32, lab.empty(32)).faults] == ["race"]
    out = lab.empty(32)
    assert lab.run(exchange_rightly, 1, 32, out).faults == []
    assert out.tolist() == [lane ^ 1 for lane in range(32)]


def test_syncwarp_orders_one_warp_only():
    def across(out):
        cell = cuda.shared.array(64, float32)
        thread = cuda.threadIdx.x
        cell[thread] = thread
        cuda.syncwarp()
        out[thread] = cell[63 - thread]

    assert [fault.kind for fault in lab.run(across, 1, 64, lab.empty(64)).faults] == ["race"]


@pytest.mark.parametrize(("far", "kinds"), [(16, ["race"]), (0, [])])
def test_syncwarp_orders_those_in_its_mask_only(far, kinds):
    def halves(out):
        cell = cuda.shared.array(32, float32)
        lane = cuda.threadIdx.x
        cell[lane] = lane
        if lane < 16:
            cuda.syncwarp(0x0000FFFF)
        else:
            cuda.syncwarp(0xFFFF0000)
        out[lane] = cell[(lane + far) % 32]

    assert [fault.kind for fault in lab.run(halves, 1, 32, lab.empty(32)).faults] == kinds


def test_what_a_lane_has_heard_it_passes_on():
    def through_a_third(out):  # 0 tells 1, 1 tells 2: so 2 has heard of 0
        cell = cuda.shared.array(4, float32)
        lane = cuda.threadIdx.x
        if lane == 0:
            cell[0] = 7.0
        if lane < 2:
            cuda.syncwarp(0b011)
        if lane > 0:
            cuda.syncwarp(0b110)
        if lane == 2:
            out[0] = cell[0]

    out = lab.empty(1)
    assert lab.run(through_a_third, 1, 3, out).faults == []
    assert out[0] == 7


@pytest.mark.parametrize("mask", [0xFFFFFFFF, 0x000FFFFF])
def test_a_mask_may_name_who_has_returned(mask):
    def early(out):
        lane = cuda.threadIdx.x
        if lane >= 20:
            return
        out[lane] = cuda.ballot_sync(mask, True)

    out = lab.empty(32)
    report = lab.run(early, 1, 32, out)
    assert report.faults == []
    assert out[0] == 0x000FFFFF
    assert report.never_written == {"out": 12}
    assert "12 elements of the array out were never written" in str(report)
    assert np.isnan(out[31])


@pytest.mark.parametrize(("threads", "returned"), [(32, 20), (20, 32)])
def test_a_shuffle_does_not_read_who_has_returned_or_never_was(threads, returned):
    def early(out):
        lane = cuda.threadIdx.x
        if lane >= returned:
            return
        out[lane] = cuda.shfl_down_sync(0xFFFFFFFF, lane, 4)

    out = lab.empty(32)
    (fault,) = lab.run(early, 1, threads, out).faults
    assert (fault.kind, fault.count) == ("shuffle", 4)
    assert "thread 16 of thread block 0 reads lane 20" in fault.sentence
    assert "which does not take part: the value is undefined" in fault.sentence
    assert out[:16].tolist() == list(range(4, 20))


def test_lanes_with_different_masks_never_meet():
    def split(out):
        lane = cuda.threadIdx.x
        cuda.syncwarp(0xFFFFFFFF if lane < 16 else 0xFFFF0000)
        cuda.syncthreads()
        out[lane] = lane

    (fault,) = lab.run(split, 1, 32, lab.empty(32)).faults
    assert fault.kind == "deadlock"
    assert "with mask 0xffffffff, but threads 16-31 in syncthreads, line" in fault.sentence


@pytest.mark.parametrize(("of_a_warp", "kind"), [(False, "divergence"), (True, "deadlock")])
def test_one_helper_called_from_two_branches_is_two_barriers(of_a_warp, kind):
    def helper():
        if of_a_warp:
            cuda.syncwarp()
        else:
            cuda.syncthreads()

    def split(out):
        out[cuda.threadIdx.x] = 0.0
        if cuda.threadIdx.x < 16:
            helper()  # first
        else:
            helper()  # second

    def together(out):
        helper()
        out[cuda.threadIdx.x] = 0.0

    assert lab.run(together, 1, 32, lab.empty(32)).faults == []
    (fault,) = lab.run(split, 1, 32, lab.empty(32)).faults
    assert fault.kind == kind
    lines = [line_of(split, "# first"), line_of(split, "# second")]
    assert [fault.line, *(site.line for site in fault.others)] == lines


def wraps_by_a_product(pool, out):
    base = uint32(uint32(2**22) * uint32(1024))
    out[0] = pool[cuda.threadIdx.x + base]


def wraps_and_is_cast_again(pool, out):
    base = uint32(out.shape[0] << 32)
    out[0] = pool[uint32(base + uint32(1)) - 1]


def hashes(pool, out):
    out[0] = pool[uint32(out.shape[0] * 2654435761 * 3) % uint32(len(pool))]


@pytest.mark.parametrize(
    ("kernel", "kinds"),
    [
        (wraps_by_a_product, ["out of bounds"]),
        (wraps_and_is_cast_again, ["out of bounds"]),
        (hashes, []),
    ],
)
def test_an_index_that_has_wrapped_is_out_of_bounds(kernel, kinds):
    report = lab.run(kernel, 1, 1, np.zeros(4), lab.empty(1))
    assert [fault.kind for fault in report.faults] == kinds


def test_an_array_under_two_names_is_refused_unless_both_are_only_read():
    def copy(x, y, out):
        out[cuda.threadIdx.x] = x[cuda.threadIdx.x] + y[cuda.threadIdx.x]

    x = np.zeros(8, np.float32)
    assert lab.run(copy, 1, 4, x, x[2:], lab.empty(4)).faults == []
    assert lab.run(copy, 1, 4, x[:4], x[:4], x[4:]).faults == []
    with pytest.raises(ValueError, match="x and out share memory"):
        lab.run(copy, 1, 4, x[:5], np.ones(4, np.float32), x[4:])


def test_atomics_race_with_nobody_but_plain_accesses():
    def count(out):
        cuda.atomic.add(out, 0, 1)

    def count_and_read(out):
        cuda.atomic.add(out, 0, 1)
        if cuda.threadIdx.x == 3:
            out[1] = out[0]

    out = np.zeros(2, np.int32)
    assert lab.run(count, 4, 8, out).faults == []
    assert out[0] == 32
    assert {fault.kind for fault in lab.run(count_and_read, 1, 8, out).faults} == {"race"}


def test_negative_indices_are_outside():
    def last(out):
        out[-1] = 1.0

    (fault,) = lab.run(last, 1, 1, lab.empty(4)).faults
    assert "out[-1], and axis 0 ends at 3" in fault.sentence


# It ends -----------------------------------------------------------------------------------------


def endless_among_friends(out):
    while True:
        cuda.atomic.add(out, 0, cuda.ballot_sync(3, True))


def waits_for_each_other(out):
    if cuda.threadIdx.x == 0:
        cuda.syncwarp()
    else:
        cuda.syncthreads()


def endless(out):
    while True:
        out[0] = 1.0


def endless_without_a_trace(out):
    while True:
        pass


@pytest.mark.parametrize(
    ("kernel", "kind", "options"),
    [
        (waits_for_each_other, "deadlock", {}),
        (endless, "no end", {"most_accesses": 1000}),
        (endless_among_friends, "no end", {"most_accesses": 1001}),
        (endless_among_friends, "no end", {"most_accesses": 1002}),
        (endless_among_friends, "no end", {"most_accesses": 10**9, "seconds": 0.1}),
        (endless_without_a_trace, "no end", {"seconds": 0.05}),
    ],
)
def test_a_kernel_cannot_hang_it(kernel, kind, options):
    report = lab.run(kernel, 1, 2, lab.empty(1), **options)
    assert kind in [fault.kind for fault in report.faults]
    assert all(fault.site.file == __file__ for fault in report.faults)
    assert all(fault.line > kernel.__code__.co_firstlineno for fault in report.faults)
    assert threading.active_count() < 20


def test_time_that_is_over_inside_the_lab_is_told_of_the_kernels_line(monkeypatch):
    made = {"TooLong": TooLong}
    exec("def kernel_frame(_): raise TooLong", made)  # a function of no file
    monkeypatch.setattr(threads, "kernel_frame", made["kernel_frame"])
    report = lab.run(endless_among_friends, 1, 2, lab.empty(1))
    assert [fault.site.file for fault in report.faults] == [__file__]


def test_time_that_is_over_before_the_first_line_is_told_of_the_kernel(monkeypatch):
    def never(self, body):
        raise TooLong

    monkeypatch.setattr(run_kernel.Launch, "_run_blocks", never)
    (fault,) = lab.run(endless, 1, 2, lab.empty(1)).faults
    assert (fault.site.file, fault.line) == (__file__, endless.__code__.co_firstlineno)


def test_time_that_is_over_amid_an_access_leaves_no_half_of_it(monkeypatch):
    class Late(list):
        def append(self, clock):
            if len(self) == 9:
                raise TooLong
            super().append(clock)

    def watched(self, *arguments):
        as_before(self, *arguments)
        self._clocks = Late()

    as_before = arrays.Watched.__init__
    monkeypatch.setattr(arrays.Watched, "__init__", watched)
    report = lab.run(endless, 1, 2, lab.empty(1))
    assert "no end" in [fault.kind for fault in report.faults]
    assert len(report.arrays("out")[0].columns) == 9


def test_an_error_in_the_kernel_comes_through_and_leaves_no_thread_waiting():
    def wrong(out):
        if cuda.threadIdx.x == 1:
            raise KeyError("mine")
        cuda.syncthreads()

    with pytest.raises(KeyError, match="mine") as caught:
        lab.run(wrong, 1, 2, lab.empty(1))
    assert caught.value.__notes__ == ["In the kernel lab, thread 1 of thread block 0."]
    assert lab.run(faulty_kernels.right, 2, 8, *scene()).faults == []


@pytest.mark.parametrize(
    ("grid", "threads", "said"),
    [
        (1, 0, "1 to 1024 threads"),
        (1, 2000, "1 to 1024"),
        (0, 8, "at least one"),
        ((1,) * 4, 1, "1 to 3"),
    ],
)
def test_sizes_that_no_gpu_has_are_refused(grid, threads, said):
    with pytest.raises(ValueError, match=said):
        lab.run(endless, grid, threads, lab.empty(1))


def test_slices_and_too_many_indices_are_refused():
    def sliced(out):
        out[0:2] = 1.0

    def deep(out):
        out[0, 0] = 1.0

    for kernel in (sliced, deep):
        with pytest.raises(IndexError, match="out takes 1 whole numbers"):
            lab.run(kernel, 1, 1, lab.empty(4))


def test_a_vector_is_not_stored_by_one_assignment():
    def whole_vector(x, out):
        out[0] = x[0]

    said = "out takes 2 numbers, one per axis, not 0"
    with pytest.raises(IndexError, match=said):
        lab.run(whole_vector, 1, 1, np.zeros((2, 4)), lab.empty((2, 4)))


def test_the_arguments_are_counted():
    with pytest.raises(TypeError, match="takes out; it got 2 values"):
        lab.run(endless, 1, 1, lab.empty(1), lab.empty(1))


def test_arrays_have_to_be_contiguous():
    with pytest.raises(ValueError, match="out is not contiguous"):
        lab.run(endless, 1, 1, np.zeros((4, 4))[:, 0])


# What kernels find -------------------------------------------------------------------------------


def test_dimensions_and_grids():
    def where(out):
        x, y = cuda.grid(2)
        wide, high = cuda.gridsize(2)
        out[y, x] = (
            cuda.threadIdx.z * 1000 + cuda.blockIdx.y * 100 + cuda.blockDim.x * 10 + wide + high
        )

    out = np.zeros((4, 6), np.int64)
    assert lab.run(where, (2, 2), (3, 2), out).faults == []
    assert out.tolist() == [[40] * 6] * 2 + [[140] * 6] * 2


def test_shuffles_and_votes():
    def talk(out):
        lane = cuda.laneid
        everyone = 0xFFFFFFFF
        out[0, lane] = cuda.shfl_sync(everyone, lane, 5)
        out[1, lane] = cuda.shfl_up_sync(everyone, lane, 1)
        out[2, lane] = cuda.shfl_down_sync(everyone, lane, 1)
        out[3, lane] = cuda.shfl_xor_sync(everyone, lane, 16)
        out[4, lane] = cuda.ballot_sync(everyone, lane < 4)
        out[5, lane] = cuda.any_sync(everyone, lane == 9)
        out[6, lane] = cuda.all_sync(everyone, lane == 9)

    out = lab.empty((7, 32), np.int64)
    assert lab.run(talk, 1, 32, out).faults == []
    lanes = list(range(32))
    assert out[0].tolist() == [5] * 32
    assert out[1].tolist() == [0, *lanes[:-1]]
    assert out[2].tolist() == [*lanes[1:], 31]
    assert out[3].tolist() == [lane ^ 16 for lane in lanes]
    assert set(out[4].tolist()) == {15}
    assert set(out[5].tolist()) == {1}
    assert set(out[6].tolist()) == {0}


def test_a_block_votes_at_its_barrier():
    def vote(out):
        thread = cuda.threadIdx.x
        out[0, thread] = cuda.syncthreads_count(thread < 3)
        out[1, thread] = cuda.syncthreads_and(thread < 3)
        out[2, thread] = cuda.syncthreads_or(thread < 3)

    out = lab.empty((3, 8), np.int64)
    assert lab.run(vote, 1, 8, out).faults == []
    assert [set(row) for row in out.tolist()] == [{3}, {0}, {1}]


def test_bits_are_counted_chosen_and_changed():
    def bits(out, cells):
        out[0] = cuda.popc(0b10110)
        out[1] = cuda.ffs(0b10110)
        out[2] = cuda.clz(int32(0b10110))
        out[3] = cuda.selp(out[0] > 2, 7, 8)
        out[4] = cuda.fma(2, 3, 4)
        cuda.atomic.and_(cells, 0, 0b0110)
        cuda.atomic.or_(cells, 1, 0b0110)
        cuda.atomic.xor(cells, 2, 0b0110)
        cuda.atomic.cas(cells, 3, 0b1100, 1)
        out[5] = cuda.atomic.cas(cells, 4, 5, 1)

    out, cells = lab.empty(6, np.int64), np.full(5, 0b1100)
    assert lab.run(bits, 1, 1, out, cells).faults == []
    assert out.tolist() == [3, 2, 27, 7, 10, 0b1100]
    assert cells.tolist() == [0b0100, 0b1110, 0b1010, 1, 0b1100]


def test_whole_numbers_wrap_where_they_are_stored():
    def store(x, out):
        out[0] = x[0] * x[0] + 200
        out[1] = 2.9

    out = lab.empty(2, np.int8)
    lab.run(store, 1, 1, np.array([2**31 - 1], np.int32), out)
    assert out.tolist() == [np.array((2**31 - 1) ** 2 + 200).astype(np.int8), 2]


@pytest.mark.parametrize(
    ("sizes", "error", "says"),
    [
        ((0, 5), ValueError, "a shared array has size 0"),
        ((8_000, 5_000), MemoryError, "49,152 bytes"),
    ],
    ids=["without a size", "more than there is"],
)
def test_shared_memory_that_cannot_be_had(sizes, error, says):
    first, second = sizes

    def two(out):
        one = cuda.shared.array(first, float32)
        other = cuda.shared.array(second, float32)
        one[0] = other[0] = out[0] = 1.0

    with pytest.raises(error, match=says):
        lab.run(two, 1, 1, lab.empty(1))


def test_float32_is_rounded_at_every_operation():
    def add(x, out):
        total = float32(0)
        for i in range(len(x)):
            total += x[i] * x[i]
        out[0] = math.exp(-total)

    x = np.random.default_rng(1).standard_normal(50).astype(np.float32)
    out = lab.empty(1)
    lab.run(add, 1, 1, x, out)
    total = np.float32(0)
    for each in x:
        total = np.float32(total + np.float32(each * each))
    assert out[0] == np.float32(math.exp(-total))


def test_integers_wrap_where_they_are_cast():
    def cast(out):
        out[0] = int32(2**31)

    out = lab.empty(1, np.int64)
    lab.run(cast, 1, 1, out)
    assert out[0] == -(2**31)


def test_functions_and_constants_of_the_kernel_come_along():
    scale = 3.0

    def twice(x):
        return x * 2

    @cuda.jit(device=True)
    def plus_one(x):
        return twice(x) + 1

    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = plus_one(cuda.threadIdx.x) * scale

    out = lab.empty(3)
    assert lab.run(kernel, 1, 3, out).faults == []
    assert out.tolist() == [3.0, 9.0, 15.0]


def test_too_few_indices_are_a_sub_array():
    def row_sums(x, out):
        row = x[cuda.threadIdx.x]
        tile = cuda.shared.array(2, float32)
        tile[cuda.threadIdx.x] = row[0] + row[1] + len(row)
        cuda.syncthreads()
        out[cuda.threadIdx.x] = tile[0] + len(tile)

    out = lab.empty(2)
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    assert lab.run(row_sums, 1, 2, x, out).faults == []
    assert out.tolist() == [5.0, 5.0]


def test_tensors_are_changed_in_place_bfloat16_as_int16():
    def copy(x, out):
        out[cuda.threadIdx.x] = x[cuda.threadIdx.x]

    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        x, out = torch.randn(4).to(dtype), torch.zeros(4, dtype=dtype)
        assert lab.run(copy, 1, 4, x, out).faults == []
        assert torch.equal(x, out)


def test_what_it_does_not_have_it_names():
    def rare(out):
        cuda.cg.this_grid()

    def rarer(out):
        cuda.atomic.nanmax(out, 0, 1)

    with pytest.raises(NotImplementedError, match=r"no cuda\.cg"):
        lab.run(rare, 1, 1, lab.empty(1))
    with pytest.raises(NotImplementedError, match=r"no cuda\.atomic\.nanmax"):
        lab.run(rarer, 1, 1, lab.empty(1))


def test_unwatched_it_computes_the_same():
    watched, unwatched = scene(), scene()
    lab.run(faulty_kernels.right, 2, 8, *watched)
    with pytest.warns(UserWarning, match="emulates"):
        emulation = Emulation()
    emulation.launch(faulty_kernels.right, 2, 8, *unwatched)
    assert watched[-1].tolist() == unwatched[-1].tolist()
    with pytest.raises(RuntimeError, match="line"):
        emulation.launch(faulty_kernels.two_barriers, 2, 8, *scene())


SIMULATED = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
import faulty_kernels
from numba import cuda

arguments = [np.ascontiguousarray(each) for each in np.load({path!r}).values()]
cuda.jit(faulty_kernels.right)[2, 8](*arguments)
np.save({path!r} + ".out.npy", arguments[-1])
"""


@pytest.mark.slow  # starts a Python in which numba simulates; the result is tested above, too
def test_numbas_own_simulator_agrees(tmp_path):
    arguments = scene()
    lab.run(faulty_kernels.right, 2, 8, *arguments)
    path = str(tmp_path / "scene.npz")
    np.savez(path, *(np.asarray(each) for each in (*arguments[:-1], np.zeros((2, 8), np.float32))))
    code = SIMULATED.format(tests=os.path.dirname(faulty_kernels.__file__), path=path)
    environment = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    np.testing.assert_allclose(np.load(path + ".out.npy"), arguments[-1], rtol=1e-6)


# What it counts ----------------------------------------------------------------------------------


def traffic(report, array, line=None):
    (found,) = (t for t in report.traffic if t.array == array and line in (None, t.line))
    return found


@pytest.mark.parametrize(
    ("stride", "share"), [(0, 1 / 8), (1, 1), (2, 1 / 2), (4, 1 / 4), (8, 1 / 8), (32, 1 / 8)]
)
def test_coalescing_is_the_share_of_sectors_that_was_asked_for(stride, share):
    def read(x, out):
        out[cuda.threadIdx.x] = x[cuda.threadIdx.x * stride]

    report = lab.run(read, 1, 64, np.zeros(64 * 32, np.float32), lab.empty(64))
    found = traffic(report, "x")
    assert (found.loads, found.stores, found.instructions) == (64, 0, 2)
    assert found.coalescing == share
    assert found.bytes_asked == (2 * 32 if stride == 0 else 2 * 128 * min(stride, 8))


def test_lanes_that_met_by_themselves_still_load_together():
    def halves(x, out):
        lane = cuda.threadIdx.x
        if lane < 16:
            cuda.syncwarp(0x0000FFFF)
        out[lane] = x[lane]

    report = lab.run(halves, 1, 32, np.zeros(32, np.float32), lab.empty(32))
    assert traffic(report, "x").instructions == 1


@pytest.mark.parametrize(("width", "passes"), [(32, 32), (33, 1)])
def test_a_column_of_a_tile_meets_one_bank_unless_it_is_padded(width, passes):
    def transpose(out):
        tile = cuda.shared.array((32, width), float32)
        for row in range(32):
            tile[row, cuda.threadIdx.x] = 1.0
        cuda.syncthreads()
        out[cuda.threadIdx.x] = tile[cuda.threadIdx.x, 0]

    report = lab.run(transpose, 1, 32, lab.empty(32))
    reads = next(t for t in report.traffic if t.array == "tile" and t.loads)
    writes = next(t for t in report.traffic if t.array == "tile" and t.stores)
    assert reads.bank_conflict == passes
    assert writes.bank_conflict == 1
    assert writes.instructions == 32


def test_bytes_read_are_those_of_loads_against_the_least():
    def twice_each(x, out):
        out[cuda.threadIdx.x] = x[cuda.threadIdx.x] + x[7 - cuda.threadIdx.x]

    report = lab.run(twice_each, 1, 8, np.zeros(8, np.float32), lab.empty(8))
    assert "64 bytes asked for; at least 32 are needed" in str(report)


def test_a_block_is_seen_at_its_barriers():
    report = lab.run(faulty_kernels.right, 2, 8, *scene(), watch=(1, 0, 0))
    first, second, end = report.pauses
    site, numbers = first.threads[3]
    assert site.line == line_of(faulty_kernels.right, "cuda.syncthreads()")
    assert numbers["thread"] == 3
    assert first.shared["q"][1].all()
    assert not first.shared["scores"][1].any()
    assert second.shared["scores"][1].tolist() == [True] * 3 + [False] * 13
    assert end.threads == {}
    assert second.marks["keys"] == 3 * 8  # of this thread block


def test_the_report_can_be_read():
    text = str(lab.run(faulty_kernels.right, 2, 8, *scene()))
    assert text.startswith("right: 2 thread blocks of 8 threads\nno faults\n")
    assert "keys: 72 loads" in text


def test_a_report_is_worked_out_once_and_by_few_calls_for_each_access():
    def add_up(x, out):
        for i in range(len(x)):
            out[cuda.threadIdx.x] = out[cuda.threadIdx.x] + x[i]

    def printed(n):
        report = lab.run(add_up, 1, 8, np.zeros(n), np.zeros(8))
        return calls(str, report), calls(str, report)

    (few, again), (many, again_of_many) = printed(40), printed(80)
    assert many <= 2.1 * few
    assert many <= 7 * 80 * 8 * 3  # accesses
    assert again == again_of_many


def test_an_integer_of_unwritten_memory_is_0_and_the_read_is_a_fault():
    def kernel(numbers, out):
        table = cuda.shared.array(4, float32)
        if cuda.threadIdx.x < 2:
            table[cuda.threadIdx.x] = 1
        cuda.syncthreads()
        out[cuda.threadIdx.x] = numbers[int(table[cuda.threadIdx.x])]

    report = lab.run(kernel, 1, 4, np.array([5, 7]), out := lab.empty(4, np.int64))
    assert [fault.kind for fault in report.faults] == ["unwritten"]
    assert out.tolist() == [7, 7, 5, 5]
