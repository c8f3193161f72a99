"""What the lab says besides faults: schedules, the ledger, whose memory it is, what comes out."""

import faulty_kernels
import numpy as np
import pytest
from faulty_kernels import right
from lab_scene import line_of, scene
from numba import cuda, float32

from minibatch import kernel_lab as lab


def thread_per_head(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head = cuda.blockIdx.x, cuda.threadIdx.x
    kv_head = head // (query.shape[1] // key_cache.shape[2])
    block_size, head_dim = key_cache.shape[1], query.shape[2]
    total, result = float32(0), cuda.local.array(32, float32)
    for d in range(head_dim):
        result[d] = 0
    for t in range(seq_lens[row]):
        block, offset, score = block_tables[row, t // block_size], t % block_size, float32(0)
        for d in range(head_dim):
            score += query[row, head, d] * key_cache[block, offset, kv_head, d]
        weight = 2.0 ** (score * scale * 1.4426950408889634)
        total += weight
        for d in range(head_dim):
            result[d] += weight * value_cache[block, offset, kv_head, d]
    for d in range(head_dim):
        output[row, head, d] = result[d] / total


def warp_per_head(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    kv_head, block_size = head // (query.shape[1] // key_cache.shape[2]), key_cache.shape[1]
    highest, total, result = float32(-1e30), float32(0), float32(0)
    for t in range(seq_lens[row]):
        block = block_tables[row, t // block_size]
        score = query[row, head, d] * key_cache[block, t % block_size, kv_head, d] * scale
        for step in (16, 8, 4, 2, 1):
            score += cuda.shfl_xor_sync(0xFFFFFFFF, score, step)
        top = max(highest, score)
        shrink, weight = 2.0 ** ((highest - top) * 1.4427), 2.0 ** ((score - top) * 1.4427)
        highest, total = top, total * shrink + weight
        result = result * shrink + weight * value_cache[block, t % block_size, kv_head, d]
    output[row, head, d] = result / total


@pytest.fixture(scope="module")
def case():
    return lab.paged_case([5, 16, 17], head_dim=32, shared_blocks=1)


def test_a_missing_barrier_comes_to_something_else_under_every_schedule():
    def add_up(numbers, out):
        thread = cuda.threadIdx.x
        tile, total = cuda.shared.array(32, float32), float32(0)
        for start in (0, 32):
            tile[thread] = numbers[start + thread]
            cuda.syncthreads()
            for i in range(32):
                total += tile[i]
        out[thread] = total

    def with_both(numbers, out):
        thread = cuda.threadIdx.x
        tile, total = cuda.shared.array(32, float32), float32(0)
        for start in (0, 32):
            tile[thread] = numbers[start + thread]
            cuda.syncthreads()
            for i in range(32):
                total += tile[i]
            cuda.syncthreads()
        out[thread] = total

    numbers = np.random.default_rng(0).standard_normal(64).astype(np.float32)

    def sums(kernel):
        found = set()
        for seed in range(8):
            out = lab.empty(32)
            lab.run(kernel, 1, 32, numbers, out, schedule=seed)
            found.add(out[0])
        return found

    assert len(sums(with_both)) == 1
    assert len(sums(add_up)) > 4
    again = [lab.empty(32) for _ in range(2)]
    for out in again:
        lab.run(add_up, 1, 32, numbers, out, schedule=3)
    assert again[0].tolist() == again[1].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_right_kernel_comes_to_the_same_under_every_schedule(case, seed):
    report = case.run(warp_per_head, schedule=seed, tolerance=1e-3)
    assert (report.faults, report.wrong) == ([], "")


def test_a_schedule_hides_no_fault():
    for kernel, kind in faulty_kernels.FAULTS.items():
        report = lab.run(kernel, 2, 8, *scene(), schedule=1)
        assert kind in {fault.kind for fault in report.faults}, kernel


def test_the_ledger_has_one_factor_for_each_reason_to_read_again(case):
    slow = case.run(thread_per_head, threads=8, grid=(3,))
    fast = case.run(warp_per_head, tolerance=1e-3)
    assert slow.wrong == fast.wrong == ""
    needed = (5 + 1) * 0 + (16 + 1 + 5 * 0) * 4 * 32 * 4  # row 0 has no full KV block to share
    assert slow.of("key_cache").needed == (5 + 16 + 17) * 4 * 32 * 4 != needed
    factors = [(round(e.by_others, 1), round(e.within, 1)) for e in (slow.of("key_cache"),)]
    assert factors == [(1.0, 8.0)]
    assert (fast.of("key_cache").by_others, fast.of("key_cache").within) == (2.0, 1.0)
    assert fast.of("seq_lens").is_broadcast
    assert not fast.of("key_cache").is_broadcast
    assert "key_cache: 19,456 bytes needed, ×2.0 by thread blocks ×1.0 within one" in str(fast)
    assert "seq_lens: 32 bytes needed, broadcast, as good as free" in str(fast)


def test_reading_another_rows_kv_block_is_a_fault():
    def neighbours_table(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
        row, thread = cuda.blockIdx.x, cuda.threadIdx.x
        output[row, 0, thread] = key_cache[block_tables[(row + 1) % 2, 0], 0, 0, thread]

    case = lab.paged_case([5, 5], heads=1, kv_heads=1)
    report = case.run(neighbours_table)
    (fault,) = report.faults
    assert (fault.kind, fault.count) == ("foreign", 64)
    block = case.block_tables[1, 0]
    assert fault.sentence == (
        "thread 0 of thread block 0, which works for row 0, reads "
        f"key_cache[{block}, 0, 0, 0], where row 1 keeps its tokens"
    )
    assert fault.line == line_of(neighbours_table, "output[row")


def test_a_shared_kv_block_is_nobodys_secret():
    case = lab.paged_case([5, 6], heads=1, kv_heads=1, block_size=4, shared_blocks=1)
    assert case.block_tables[0, 0] == case.block_tables[1, 0]
    assert case.run(warp_per_head, tolerance=1e-3).faults == []


def test_what_differs_from_the_definition_is_told_by_row_head_and_element():
    def forgets_the_last(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
        row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
        output[row, head, d] = value_cache[block_tables[row, 0], 0, head, d] * (1 + head)

    case = lab.paged_case([1, 1], heads=2, kv_heads=2)
    report = case.run(forgets_the_last)
    assert report.wrong.startswith("output is wrong first at row 0, head 1, element 0: ")
    assert report.wrong.endswith("64 of 128 elements are wrong, all of them in head 1")
    assert report.wrong in str(report)


def test_a_case_says_what_it_has():
    def kernel(query, window, output):
        output[0, 0, 0] = window

    case = lab.paged_case([1], heads=1, kv_heads=1)
    assert case.run(kernel, threads=1, more=(3,)).faults == []
    with pytest.raises(TypeError, match="kernel takes window, which is not there"):
        case.run(kernel, threads=1)


def test_the_races_sentence_names_the_visit_and_where_a_barrier_is_missing():
    def rounds(out):
        thread = cuda.threadIdx.x
        tile = cuda.shared.array(2, float32)
        total = float32(0)
        for i in range(2):
            tile[thread] = i  # written
            cuda.syncthreads()
            total += tile[1 - thread]  # read
        out[thread] = total

    (fault,) = lab.run(rounds, 1, 2, lab.empty(2)).faults
    wrote, read = line_of(rounds, "# written"), line_of(rounds, "# read")
    assert fault.sentence == (
        f"tile[1]: thread 0 of thread block 0 reads it in line {read} for the first time, thread 1 "
        f"writes it in line {wrote} for the second time, and no barrier comes between: one is "
        f"missing after line {read}"
    )


def test_a_return_before_a_barrier_is_a_remark():
    def early(out):
        thread = cuda.threadIdx.x
        if thread > 3:
            return
        out[thread] = thread
        cuda.syncthreads()

    report = lab.run(early, 1, 8, lab.empty(4))
    assert report.faults == []
    (remark,) = report.remarks
    assert remark.sentence == (
        "threads 4-7 returned before this barrier, which a GPU from 2017 on allows"
    )
    assert remark.sentence in str(report)


def test_accesses_are_a_table_to_ask(case):
    report = case.run(warp_per_head, tolerance=1e-3)
    reads = report.accesses("key_cache")
    assert len(reads) == (5 + 16 + 17) * 8 * 32
    assert set(reads.lane) == set(range(32))
    assert set(reads.how) == {"read"}
    assert set(reads.line) == {line_of(warp_per_head, "score = query")}
    assert set(reads.thread_block[reads.index >= 0]) == set(range(24))
    with pytest.raises(ValueError, match="no array 'keys'; it has query, key_cache"):
        report.accesses("keys")


def test_functions_of_another_file_are_not_booked_on_the_kernels_lines():
    def kernel(q, k, v, tables, lengths, out):
        right(q, k, v, tables, lengths, out)

    report = lab.run(kernel, 2, 8, *scene())
    assert all(t.file.endswith("faulty_kernels.py") for t in report.traffic)
    assert "of faulty_kernels.py: k: 72 loads" in str(report)


def test_waves_hand_the_next_thread_block_to_whoever_is_free():
    found = lab.waves([4, 1, 1, 1], num_multiprocessors=2)
    assert found.spans == [(0, 0, 4), (1, 0, 1), (1, 1, 2), (1, 2, 3)]
    assert (found.makespan, found.ideal, found.busy) == (4, 3.5, 0.875)


def test_a_report_is_a_picture_in_a_notebook():
    page = lab.run(faulty_kernels.off_by_one_tail, 2, 8, *scene())._repr_html_()
    line = line_of(faulty_kernels.off_by_one_tail, "# here")
    assert f"✗ {line}" in page
    assert "which nobody has written" in page
    assert "bytes, 100% used" in page


def test_a_stepper_s_variables_are_the_threads_own():
    constant = 7

    def kernel(out):
        mine = cuda.local.array(2, float32)
        mine[0] = cuda.threadIdx.x
        cuda.syncthreads()
        out[cuda.threadIdx.x] = mine[0] + constant

    first, _ = lab.run(kernel, 1, 4, lab.empty(4)).pauses
    _, own = first.threads[3]
    assert list(own) == ["mine"]
    assert own["mine"][0] == 3
