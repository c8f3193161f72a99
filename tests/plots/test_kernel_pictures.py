"""What is drawn of a kernel: its accesses, its source, its barriers."""

import faulty_kernels
import numpy as np
import pytest
from lab_scene import line_of, scene
from matplotlib.figure import Figure
from numba import cuda

from minibatch import kernel_lab as lab
from minibatch import plots
from minibatch.plots.multiprocessors import waves_of
from minibatch.widgets import KernelStepper


@pytest.fixture(scope="module")
def report():
    return lab.run(faulty_kernels.right, 2, 8, *scene())


def strided(x, out):
    out[cuda.threadIdx.x] = x[cuda.threadIdx.x * 8]


def test_a_warps_access_names_what_is_used_and_what_is_asked_for():
    report = lab.run(strided, 1, 32, np.zeros(256, np.float32), lab.empty(32))
    line = line_of(strided, "x[cuda")
    apart, together = (plots.warp_access(report, name, line) for name in ("x", "out"))
    assert "32 of 32 lanes use 128 of the 1,024 bytes asked for: 12.5 %" in apart.alt
    assert "32 of 32 lanes write 128 of the 128 bytes asked for: 100 %" in together.alt
    assert len(apart.axes[0].patches) == 32  # sectors
    assert plots.warp_access(report, "x").alt == apart.alt  # the only line that reads it
    with pytest.raises(ValueError, match="line 1 does not access x"):
        plots.warp_access(report, "x", 1)


def test_three_shuffles_give_each_of_8_lanes_the_whole_sum():
    figure = plots.shuffle_sum()
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words[8:12] == ["0 + 4", "1 + 5", "2 + 6", "3 + 7"]
    assert words[-8:] == ["all 8"] * 8
    assert "Lane 0 after the shuffle with 2: the sum of lanes 0 + 2 + 4 + 6" in figure.alt
    assert len(plots.shuffle_sum(16).axes[0].texts) == 5 * 16
    with pytest.raises(ValueError, match="lanes is 12; give 2, 4, 8 or 16"):
        plots.shuffle_sum(12)


def test_a_walk_over_the_block_table_shows_the_order_of_blocks(report):
    figure = plots.block_table_walk(report, "keys")
    assert "keys, KV block by KV block: A 2 → 0; B 3" in figure.alt
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["A5", "A6", "A1", "A2", "A3", "A4", "B1", "B2", "B3"]  # from block 0 down


def test_a_walk_says_how_many_thread_blocks_read_for_a_row():
    def both_heads(key_cache, output):
        output[0, cuda.blockIdx.y, 0] = key_cache[1, 0, 0, 0]

    report = lab.paged_case([20], heads=2, kv_heads=1).run(both_heads, threads=1)
    assert "key_cache, KV block by KV block: A 1 by 2 thread blocks" in (
        plots.block_table_walk(report).alt
    )


def test_a_slot_that_several_rows_read_is_hatched():
    arguments = list(scene())
    arguments[3] = np.array([[2, 0], [2, 0]])
    figure = plots.block_table_walk(lab.run(faulty_kernels.right, 2, 8, *arguments), "keys")
    assert "(hatched: 3 slots that several rows read)" in figure.axes[0].get_xlabel()


@pytest.mark.parametrize("draw", ["warp_access", "block_table_walk"])
def test_they_draw_into_axes_of_ones_own(report, draw):
    line = line_of(faulty_kernels.right, "score +=")
    more = {"warp_access": ("keys", line), "block_table_walk": ("keys",)}[draw]
    axis = Figure().subplots()
    assert getattr(plots, draw)(report, *more, ax=axis) is axis.figure


def test_a_stepper_goes_from_barrier_to_barrier_and_back(report):
    stepper = KernelStepper(report)
    assert "barrier 1 of 2</b> · accesses since the start:" in stepper.view.value
    assert stepper.back_button.disabled
    stepper.step_button.click()
    assert "barrier 2 of 2" in stepper.view.value
    assert (
        "since the barrier before: keys 48" in stepper.view.value
    )  # six tokens of eight numbers since the first barrier
    stepper.thread.value = 3
    assert "thread 3</b>: row = 0, thread = 3" in stepper.view.value
    stepper.step_button.click()
    assert "Every thread has returned" in stepper.view.value
    assert stepper.step_button.disabled
    stepper.back_button.click()
    assert "barrier 2 of 2" in stepper.view.value
    assert stepper._repr_mimebundle_()["text/html"] == stepper.view.value


def test_a_stepper_wants_a_block_that_was_watched():
    with pytest.raises(ValueError, match="not recorded a whole thread block"):
        KernelStepper(lab.run(faulty_kernels.right, 2, 8, *scene(), watch=(7, 0, 0)))


def test_a_film_of_a_warp_goes_through_its_instructions(report):
    first, last = plots.warp_film(report, 1), plots.warp_film(report, 10**6)
    assert "Instruction 1 of " in first.alt
    assert "length = lengths[row]" in first.alt
    assert "one broadcast answers all lanes" in first.alt
    assert "output[row, thread]" in last.alt
    with pytest.raises(ValueError, match="warp 5 of thread block 0 accesses no memory"):
        plots.warp_film(report, 1, warp=5)


def test_a_stepper_of_a_kernel_without_a_barrier_says_so():
    report = lab.run(strided, 1, 32, np.zeros(256, np.float32), lab.empty(32))
    assert "no barrier on the way" in KernelStepper(report).view.value


def test_banks_are_drawn_for_shared_memory(report):
    figure = plots.warp_access(report, "q", line_of(faulty_kernels.right, "q[thread] ="))
    assert "8 of 32 lanes meet 8 banks in 1 pass" in figure.alt

    def column(out):
        i = cuda.threadIdx.x
        tile = cuda.shared.array((32, 32), np.float32)
        for row in range(32):
            tile[row, i] = i
        cuda.syncthreads()
        out[i] = tile[i, 0]

    of_a_column = lab.run(column, 1, 32, lab.empty(32))
    assert "meet 1 bank in 32 passes" in plots.warp_access(of_a_column, "tile").alt
    with pytest.raises(ValueError, match="not access an array 'nothing'"):
        plots.warp_access(report, "nothing", 1)
    with pytest.raises(ValueError, match="q has no KV blocks"):
        plots.block_table_walk(report, "q")


def test_a_ladder_tells_how_often_each_kernel_reads(report):
    figure = plots.ladder({"right": report, "again": report}, arrays=("keys",), yours="again")
    assert figure.alt.startswith("How many times each kernel asks for K and V. right ×")
    labels = figure.axes[0].get_yticklabels()
    assert [label.get_fontweight() for label in labels] == ["normal", "bold"]


def test_bytes_in_flight_stand_beside_what_a_gpu_needs():
    kernels = {"one number a lane": 4 * 1024, "several": 147_456}
    figure = plots.in_flight(kernels, yours="several")
    says = "one number a lane has at most 4 KB in flight; an H100 needs 8.3 to 17 KB"
    assert says in figure.alt
    assert "one number a lane 4 KB. several 144 KB. an H200 needs 12 KB at 335 ns" in figure.alt
    assert "an H100 needs 8.3 KB at 335 ns" in figure.alt
    labels = figure.axes[0].get_yticklabels()
    assert [label.get_fontweight() for label in labels] == ["normal", "normal", "normal", "bold"]


def test_waves_say_how_much_of_the_time_is_used():
    figure = plots.waves({"uneven": waves_of([4, 1, 1], 2)})
    says = "uneven: 75 % of the time is used"
    assert says in figure.alt


def test_a_running_maximum_shrinks_what_was_summed_before():
    figure = plots.online_softmax([0.0, 0.0, 1.0, 1.0], tile=2, tiles=2)
    assert "After tile 2: the earlier sum is multiplied by 0.37; the new sum is 2.74" in figure.alt


def test_the_flow_of_data_shows_who_hands_what_to_whom_and_the_pair_without_a_barrier():
    def hand_on(careful, out):
        thread, tile = cuda.threadIdx.x, cuda.shared.array(4, np.float32)
        tile[thread] = thread
        if careful:
            cuda.syncthreads()
        out[thread] = tile[thread ^ 1]

    right, wrong = (lab.run(hand_on, 1, 4, careful, lab.empty(4)) for careful in (True, False))
    assert "Round 1: 1 write. Round 2: 1 read." in plots.dataflow(right, "tile").alt
    words = [text.get_text() for text in plots.dataflow(right, "tile").axes[0].texts]
    assert words.count("barrier") == 1
    wrote, read = line_of(hand_on, "tile[thread] ="), line_of(hand_on, "out[thread]")
    figure = plots.dataflow(wrong, "tile")
    said = f"thread 0 writes it in line {wrote}, thread 1 reads it in line {read}, no barrier"
    assert f"Round 1: element 0: {said} between them" in figure.alt
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == [f"writes it, line {wrote}", "no barrier", f"reads it, line {read}"]
    with pytest.raises(ValueError, match="thread block 1 does not touch tile"):
        plots.dataflow(right, "tile", thread_block=1)
