"""What the lab says besides faults: schedules, the ledger, whose memory it is, what comes out."""

import linecache
import math
import re

import faulty_kernels
import numpy as np
import pytest
from faulty_kernels import right
from lab_scene import line_of, scene
from numba import cuda, float32, njit, uint32

from minibatch import kernel_lab as lab
from minibatch import plots
from minibatch.attention.emulation import Emulation
from minibatch.kernel_lab.case import by_name
from minibatch.kernel_lab.instructions import Entry
from minibatch.kernel_lab.judgement import difference
from minibatch.plots.multiprocessors import waves_of
from minibatch.widgets import KernelStepper


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


def v_in_the_head_loop(query, key_cache, value_cache, block_tables, seq_lens, output):
    row, kv_head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    for t in range(seq_lens[row]):
        block = block_tables[row, t // 16]
        key = key_cache[block, t % 16, kv_head, d]
        for head in (2 * kv_head, 2 * kv_head + 1):
            output[row, head, d] = key * value_cache[block, t % 16, kv_head, d]


CACHES = "key_cache", "value_cache"


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
    twice = case.run(v_in_the_head_loop, grid=lambda rows, heads, kv_heads: (rows, kv_heads))
    assert [(e.by_others, e.within) for e in map(twice.of, CACHES)] == [(1, 1), (1, 2)]
    slow = case.run(thread_per_head, threads=8, grid=(3,))
    fast = case.run(warp_per_head, tolerance=1e-3)
    assert slow.wrong == fast.wrong == ""
    assert slow.of("key_cache").touched == slow.of("key_cache").used == (5 + 16 + 17) * 4 * 32 * 4
    factors = [(round(e.by_others, 1), round(e.within, 1)) for e in (slow.of("key_cache"),)]
    assert factors == [(1.0, 8.0)]
    assert (fast.of("key_cache").by_others, fast.of("key_cache").within) == (2.0, 1.0)
    assert fast.of("seq_lens").is_broadcast
    assert not fast.of("key_cache").is_broadcast
    touched = "key_cache: 19,456 bytes used of 19,456 touched; requests per sector: "
    assert f"{touched}2.0 = 2.0 thread blocks × 1.0\n" in str(fast)
    assert f"{touched}8.0\n" in str(slow)
    assert fast.of("key_cache").asked == 2 * 19_456
    assert "seq_lens: 12 bytes used of 32 touched; requests per sector: 24.0, broadcasts" in str(
        fast
    )
    page = fast._repr_html_()
    assert "2.0 = 2.0 thread blocks × 1.0</td>" in page
    assert ">requests per sector</th>" in page


@pytest.mark.parametrize(
    ("by_others", "within", "shown"),
    [
        (2, 8, "16.0 = 2.0 thread blocks × 8.0"),
        (2, 1.25, "2.5 = 2.00 thread blocks × 1.25"),
        (2, 4 / 3, "2.7 = 2.00 thread blocks × 1.33"),
        (1, 1.25, "1.2"),
    ],
)
def test_the_factors_of_the_requests_have_so_many_digits_that_their_product_is_right(
    by_others, within, shown
):
    entry = Entry("keys", 32, 32, by_others, within, is_broadcast=False)
    assert entry.per_sector == shown


def test_the_ledger_says_how_much_of_the_sectors_is_used():
    def every_eighth(source, out):
        out[cuda.threadIdx.x] = source[cuda.threadIdx.x * 8]

    entry = lab.run(every_eighth, 1, 32, np.zeros(256, np.float32), lab.empty(32)).of("source")
    assert (entry.used, entry.touched, entry.by_others, entry.within) == (128, 1024, 1, 1)
    assert str(entry).startswith("source: 128 bytes used of 1,024 touched; ")


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
        f"key_cache[{block}, 0, 0, 0], a slot of row 1"
    )
    assert fault.line == line_of(neighbours_table, "output[row")


@pytest.mark.parametrize(
    ("table", "shared", "kinds"), [(1, 0, ["foreign"]), (0, 1, ["foreign"]), (0, 0, [])]
)
def test_a_row_writes_only_slots_that_it_alone_owns(table, shared, kinds):
    def write_kv(block_tables, key_cache, output):
        row, thread = cuda.blockIdx.x, cuda.threadIdx.x
        if row == 0:
            key_cache[block_tables[table, 0], 0, 0, thread] = 1.0
        output[row, 0, thread] = 0.0

    case = lab.paged_case([5, 5], heads=1, kv_heads=1, block_size=4, shared_blocks=shared)
    faults = case.run(write_kv).faults
    assert [fault.kind for fault in faults] == kinds
    assert [fault.count for fault in faults] == [32] * len(kinds)


def test_the_padding_of_a_block_table_is_unwritten_memory():
    def one_token_too_far(key_cache, block_tables, seq_lens, output):
        row, thread = cuda.blockIdx.x, cuda.threadIdx.x
        t = seq_lens[row]
        output[row, 0, thread] = key_cache[block_tables[row, t // 16], t % 16, 0, thread]

    for seed in range(12):
        case = lab.paged_case([16, 20], heads=1, kv_heads=1, seed=seed)
        faults = case.run(one_token_too_far).faults
        said = [fault.sentence for fault in faults if fault.kind == "unwritten"]
        assert any("reads block_tables[0, 1], which no thread has written" in each for each in said)
        assert case.run(warp_per_head, tolerance=1e-3).faults == []


@pytest.mark.parametrize(("own", "kinds"), [([0, 1, 2], []), ([0, 2], ["foreign"])])
def test_a_thread_block_may_work_for_several_rows(own, kinds):
    def row_after_row(query, key_cache, value_cache, block_tables, seq_lens, scale, output):
        for row in range(3):
            table = block_tables[row, 0]
            output[row, 0, cuda.threadIdx.x] = key_cache[table, 0, 0, cuda.threadIdx.x]

    case = lab.paged_case([5, 6, 7], heads=1, kv_heads=1)
    faults = case.run(row_after_row, grid=1, row_of=lambda x, y, z: own).faults
    assert [fault.kind for fault in faults] == kinds
    for fault in faults:
        assert "which works for rows 0, 2, reads" in fault.sentence
        assert fault.sentence.endswith("a slot of row 1")


def test_slots_of_a_cache_that_stay_unwritten_are_no_finding():
    def write_newest(key_cache, block_tables, seq_lens, output):
        row, thread = cuda.blockIdx.x, cuda.threadIdx.x
        t = seq_lens[row] - 1
        key_cache[block_tables[row, t // 16], t % 16, 0, thread] = 1.0
        output[row, 0, thread] = 0.0

    report = lab.paged_case([5, 20], heads=2, kv_heads=1).run(write_newest, grid=(2,), expect={})
    assert report.never_written == {"output": 64}


@pytest.mark.parametrize(("deed", "kinds"), [("exch", []), ("add", ["unwritten"])])
def test_exch_needs_no_old_value_and_every_atomic_writes(deed, kinds):
    def count(out):
        if deed == "exch":
            cuda.atomic.exch(out, 0, 1)
        else:
            cuda.atomic.add(out, 0, 1)
        cuda.syncthreads()
        cuda.atomic.add(out, 0, 1)

    report = lab.run(count, 1, 2, lab.empty(1, np.int32))
    assert [(fault.kind, fault.count) for fault in report.faults] == [(kind, 1) for kind in kinds]
    assert report.never_written == {}


def test_a_case_has_rows_and_a_row_has_tokens():
    for lengths in ([0, 5], [-1], []):
        with pytest.raises(ValueError, match="1 token in each row"):
            lab.paged_case(lengths)


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
    assert report.wrong.startswith("output is first wrong at row 0, head 1, element 0: ")
    assert report.wrong.endswith("64 of 128 elements are wrong, all of them in head 1")
    assert report.wrong in str(report)


def test_a_wrong_element_of_copied_keys_is_told_by_its_token():
    right = np.zeros((2, 5, 1, 4))
    copied = right.copy()
    copied[1, 2:] = 1
    said = difference("keys", copied, right, 1e-5)
    assert said.startswith("keys is first wrong at row 1, token 2, head 0, element 0: it is 1 ")
    assert said.endswith("12 of 40 elements are wrong, all of them in row 1 and tokens 2-4")


def test_a_case_says_what_it_has():
    def kernel(query, window, output):
        output[0, 0, 0] = window

    case = lab.paged_case([1], heads=1, kv_heads=1)
    assert case.run(kernel, threads=1, more=(3,)).faults == []
    named = case.run(kernel, threads=1, window=3, schedule=1)
    assert named.arrays("output")[0].data[0] == 3
    with pytest.raises(TypeError, match="kernel has an argument window, but the case has only"):
        case.run(kernel, threads=1)


def test_more_may_be_numbers_of_numpy_and_arrays():
    def kernel(number, factor, numbers, output):
        for i in range(number):
            output[0, 0, i] = numbers[i] * factor

    case, numbers = lab.paged_case([1], heads=1, kv_heads=1), np.arange(2, dtype=np.int32)
    number, factor, array, _ = by_name(
        kernel, case.given(), (np.int64(2), np.float64(0.5), numbers)
    )
    assert (type(number), type(factor)) == (int, float)
    assert array is numbers
    report = case.run(kernel, threads=1, more=(np.uint8(2), np.float32(0.5), numbers))
    assert report.faults == []
    assert report.arrays("output")[0].data[:2].tolist() == [0, 0.5]


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
        f"writes it in line {wrote} for the second time, and no barrier is between them: a "
        f"barrier is missing after line {read}, before line {wrote} runs again"
    )


@pytest.mark.filterwarnings("ignore:No GPU")
def test_a_thread_may_return_before_a_barrier():
    def early(out):
        thread = cuda.threadIdx.x
        if thread > 3:
            return
        out[thread] = thread
        cuda.syncthreads()

    report = lab.run(early, 1, 8, lab.empty(4))
    Emulation().launch(early, 1, 8, np.zeros(4))
    assert report.faults == []


def test_an_array_that_the_kernel_does_not_access_is_refused_with_all_names(case):
    report = case.run(warp_per_head, tolerance=1e-3)
    with pytest.raises(
        ValueError, match="not access an array 'keys'; it accesses query, key_cache"
    ):
        report.arrays("keys")


def test_functions_of_another_file_are_not_booked_on_the_kernels_lines():
    def kernel(q, k, v, tables, lengths, out):
        right(q, k, v, tables, lengths, out)

    report = lab.run(kernel, 2, 8, *scene())
    assert all(t.function == "right" for t in report.traffic)
    assert "of right: k: 72 loads" in str(report)


@pytest.fixture
def helper():
    """A function of another notebook cell, whose line 4 loads, waits and reads beyond the end."""
    text = """


def helper(x, i): cuda.syncthreads(); return x[i * 9]
""".replace("; ", "\n    ").replace("): ", "):\n    ")
    names = {"cuda": cuda}
    linecache.cache["<cell 1>"] = len(text), None, text.splitlines(True), "<cell 1>"
    exec(compile(text, "<cell 1>", "exec"), names)
    yield names["helper"]
    del linecache.cache["<cell 1>"]


def test_a_line_of_another_cell_is_told_by_its_function_everywhere(helper):
    def kernel(x, out):
        out[cuda.threadIdx.x] = helper(x, cuda.threadIdx.x)

    report = lab.run(kernel, 1, 8, np.zeros(60, np.float32), lab.empty(8))
    (fault,) = report.faults
    assert str(fault).startswith("line 6 of helper: out of bounds: ")
    assert "line 6 of helper: x: 7 loads" in str(report)
    page = report._repr_html_()
    assert "✗ 6" not in page
    assert "line 6 of helper" in page
    film = plots.warp_film(report, 1)
    assert "return x[i * 9]" in film.alt
    stepper = KernelStepper(report).view.value
    assert "line 5 of helper" in stepper
    assert "cuda.syncthreads()" in stepper


def test_unsigned_numbers_differ_without_a_sign_as_numba_has_it():
    def differ(x, out):
        out[0] = x[0] - x[1] > 0  # 3 - 5 is 2**64 - 2
        out[1] = x[0] - 5 > 0
        out[2] = uint32(3) - uint32(5) > 0
        out[3] = (x[0] + x[1] - x[1] * x[1]) % 10

    x, out, compiled = np.array([3, 5], np.uint32), lab.empty(4), np.zeros(4)
    lab.run(differ, 1, 1, x, out)
    njit(differ)(x, compiled)
    assert out.tolist() == compiled.tolist() == [1, 0, 1, (3 + 5 - 25) % 10]


def test_a_race_in_which_all_write_the_same_says_so():
    def clear(out):
        out[0] = 0.0

    def number(out):
        out[0] = cuda.threadIdx.x

    said = "; all write the same value, so the result is right: let only one thread write"
    (fault,) = lab.run(clear, 1, 4, lab.empty(1)).faults
    assert said in fault.sentence
    assert fault.thread == (0, 0, 0, 1, 0, 0)  # the second of the two that race
    assert said in lab.run(clear, 4, 1, lab.empty(1)).faults[0].sentence
    assert said not in lab.run(number, 1, 4, lab.empty(1)).faults[0].sentence


def a_token_to_a_lane(
    query, key_cache, value_cache, block_tables, seq_lens, steps, of_totals, scale, output
):
    """Right, if the shuffles take all steps; they are joined in lane 0."""
    row, head, lane = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    total, result = float32(0), cuda.local.array(32, float32)
    for d in range(32):
        result[d] = float32(0)
    for t in range(lane, seq_lens[row], 32):
        block, score = block_tables[row, t // 16], float32(0)
        for d in range(32):
            score += query[row, head, d] * key_cache[block, t % 16, head, d] * scale
        weight = math.exp(score)
        total += weight
        for d in range(32):
            result[d] += weight * value_cache[block, t % 16, head, d]
    for step in of_totals:
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
    for step in steps:
        for d in range(32):
            result[d] += cuda.shfl_xor_sync(0xFFFFFFFF, result[d], step)
    if lane == 0:
        for d in range(32):
            output[row, head, d] = result[d] / total


def a_lane_to_an_element(
    query, key_cache, value_cache, block_tables, seq_lens, steps, begin, short, scale, output
):
    """Right, if the shuffles take all steps, from token 0 on and none short."""
    row, head, d = cuda.blockIdx.x, cuda.blockIdx.y, cuda.threadIdx.x
    total, result = float32(0), float32(0)
    for t in range(begin, seq_lens[row] - short):
        block = block_tables[row, t // 16]
        score = query[row, head, d] * key_cache[block, t % 16, head, d] * scale
        for step in steps:
            score += cuda.shfl_xor_sync(0xFFFFFFFF, score, step)
        weight = math.exp(score)
        total += weight
        result += weight * value_cache[block, t % 16, head, d]
    output[row, head, d] = result / total


STEPS = (16, 8, 4, 2, 1)


@pytest.mark.parametrize(
    ("kernel", "more", "said"),
    [
        (a_token_to_a_lane, (STEPS, STEPS), None),
        (a_token_to_a_lane, ((), ()), "only tokens 0, 32, 64 counted"),
        (a_token_to_a_lane, (STEPS[:-1],) * 2, "only tokens 0, 2, 4, … counted"),
        (a_token_to_a_lane, (STEPS[1:],) * 2, "only tokens 0-15, 32-47, 64-69 counted"),
        (
            a_token_to_a_lane,
            ((16, 8), STEPS),
            "only tokens 0, 8, 16, … counted, divided by the weights of all tokens",
        ),
        (a_lane_to_an_element, (STEPS, 0, 0), None),
        (a_lane_to_an_element, (STEPS, 0, 1), "only tokens 0-68 counted"),
        (a_lane_to_an_element, (STEPS, 0, 38), "only tokens 0-31 counted"),
        (a_lane_to_an_element, (STEPS, 69, 0), "only token 69 counted"),
    ],
)
def test_a_forgotten_shuffle_is_told_by_what_is_missing(kernel, more, said):
    case = lab.paged_case([70], heads=1, kv_heads=1)
    found = case.run(kernel, more=more, tolerance=1e-4).wrong
    assert f"row 0, head 0 comes out as if {said}" in found if said else found == ""


def test_what_fits_no_guess_is_not_guessed():
    case = lab.paged_case([70], heads=1, kv_heads=1)
    (weights,), values = case.parts(0)
    every_third = weights[::3] @ values[::3, 0] / weights[::3].sum()
    every_second = weights[::2] @ values[::2, 0] / weights[::2].sum()
    off = np.linspace(0, 1e-3, 32)
    assert case.why(np.full((1, 1, 32), np.nan)) == ""
    assert "only tokens 0, 2, 4, … counted" in case.why(every_second[None, None])
    assert case.why((every_second + off)[None, None]) == case.why(every_third[None, None]) == ""


def test_waves_hand_the_next_thread_block_to_whoever_is_free():
    found = waves_of([4, 1, 1, 1], num_multiprocessors=2)
    assert found.spans == [(0, 0, 4), (1, 0, 1), (1, 1, 2), (1, 2, 3)]
    assert (found.makespan, found.ideal, found.busy) == (4, 3.5, 0.875)


def test_a_report_is_a_picture_in_a_notebook():
    page = lab.run(faulty_kernels.off_by_one_tail, 2, 8, *scene())._repr_html_()
    line = line_of(faulty_kernels.off_by_one_tail, "# here")
    assert f"✗</span>{line:3d}" in page
    assert "which no thread has written" in page
    assert "bytes asked for, share used" in page
    assert re.search(r">[\d,]+ · 100 % <span", page)


def test_a_report_has_the_letters_and_the_ground_of_the_theme_and_two_colours_for_bars():
    page = lab.run(faulty_kernels.off_by_one_tail, 2, 8, *scene())._repr_html_()
    grounds = re.findall(r"(?<!-)background:\s*([^;\"]+)", page)
    letters = re.findall(r"(?<!-)color:\s*([^;\"]+)", page)
    bars = {"#7DBBE8", "#C75000"}
    assert set(grounds) == {"var(--jp-layout-color0, #fff)"} | bars
    assert set(letters) == {"var(--jp-content-font-color1, #222)"}
    assert not re.search(r"background:#\w+[^>]*>[^<]", page)  # no letters on a bar


def test_a_stepper_s_variables_are_the_threads_own():
    constant = 7

    def kernel(out):
        mine = cuda.local.array(2, float32)
        mine[0] = cuda.threadIdx.x
        cuda.syncthreads()
        out[cuda.threadIdx.x] = mine[0] + constant

    report = lab.run(kernel, 1, 4, lab.empty(4))
    _, own = report.pauses[0].threads[3]
    assert list(own) == ["mine"]
    assert own["mine"].tolist() == [3, None]
    assert "mine = [0, –]" in KernelStepper(report).view.value  # – is not written
