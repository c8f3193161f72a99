"""The CUDA kernels without a GPU: run in the kernel lab, against the definition in float64; refused
where they would read what is not theirs; in the engine, with `generate`'s tokens."""

import random
from collections import Counter
from types import SimpleNamespace
from unittest.mock import MagicMock

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_tokens
from paged import KERNELS, exact, paged
from tiny import make_tiny_llama

import minibatch as mb
from minibatch import kernel_lab as lab
from minibatch.attention import choose
from minibatch.attention.cuda import gpu, paged_attention
from minibatch.attention.cuda.merge import MERGE_TEAMS, merge_chunks
from minibatch.attention.cuda.paged_attention import PagedAttention
from minibatch.attention.emulation import Emulation

TOLERANCE = {
    torch.float32: 2e-5,
    torch.float16: 2e-3,
    torch.bfloat16: 1.2e-2,
}  # of storing the result
CPU = torch.device("cpu")

pytestmark = pytest.mark.filterwarnings("ignore:No GPU runs these kernels")


def close(output, expected, tolerance=2e-5):
    torch.testing.assert_close(output.double(), expected, rtol=tolerance, atol=tolerance)


class Watching:
    """A launcher that keeps the kernel lab's reports. owned: which slots may be read."""

    num_multiprocessors = 2
    compute_capability = (9, 0)

    def __init__(self, num_threads=32, owned=None):
        self.num_threads, self.owned, self.reports = num_threads, owned, []

    def launch(self, kernel, grid, num_threads, *arguments):
        names = kernel.__code__.co_varnames
        given = [self._guarded(names[i], each) for i, each in enumerate(arguments)]
        self.reports.append(lab.run(kernel, grid, num_threads, *given))

    def _guarded(self, name, argument):
        if self.owned is None or name not in ("key_cache", "value_cache"):
            return argument
        bits = argument.view(torch.int16) if argument.dtype == torch.bfloat16 else argument
        array = bits.numpy()
        return lab.partly_written(
            array, np.repeat(self.owned, array.size // len(self.owned)).reshape(array.shape)
        )

    @property
    def faults(self):
        return [fault for report in self.reports for fault in report.faults]


SEEDS = st.integers(0, 2**20)
ROWS = st.lists(
    st.tuples(st.integers(1, 3), st.integers(0, 9)).map(lambda row: (row[0], sum(row))),
    min_size=1,
    max_size=2,
)


def check(kernel, dtype, case, num_threads=32, tolerance=None):
    """That the kernel gives what the definition says, and that the lab finds no fault."""
    launcher = Watching(num_threads, case.owned)
    output = PagedAttention(kernel, launcher)(*case.arguments)
    assert launcher.faults == []
    close(output, exact(case), tolerance or TOLERANCE[dtype])


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize(
    ("rows", "heads", "kv_heads", "head_dim", "block_size", "shared_blocks"),
    [
        pytest.param([(1, 6), (2, 5)], 4, 2, 16, 3, 1, id="two rows share a block"),
        pytest.param([(1, 2)], 9, 1, 40, 16, 0, id="more heads than a thread block takes"),
        pytest.param([(2, 3)], 3, 1, 24, 1, 0, id="blocks of one"),
    ],
)
def test_every_kernel_gives_what_the_definition_says_and_the_lab_finds_no_fault(
    kernel, dtype, rows, heads, kv_heads, head_dim, block_size, shared_blocks
):
    shape = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "block_size": block_size}
    check(kernel, dtype, paged(1, rows, dtype=dtype, shared_blocks=shared_blocks, **shape))


@pytest.mark.slow
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@given(
    seed=SEEDS,
    rows=ROWS,
    heads=st.sampled_from([(1, 1), (2, 1), (2, 2), (4, 2), (6, 2), (9, 1)]),
    head_dim=st.sampled_from([16, 24, 40]),
    block_size=st.sampled_from([1, 3, 4, 16]),
    shared_blocks=st.integers(0, 2),
)
@settings(max_examples=45, deadline=None)
def test_on_many_shapes(kernel, dtype, seed, rows, heads, head_dim, block_size, shared_blocks):
    """Nine times 45 cases, of one launch or two: over 500 launches without a false alarm."""
    shape = {"heads": heads[0], "kv_heads": heads[1], "head_dim": head_dim}
    more = {"block_size": block_size, "shared_blocks": shared_blocks}
    check(kernel, dtype, paged(seed, rows, dtype=dtype, **shape, **more))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("head_dim", "group"), [(64, 4), (80, 1), (128, 8), (256, 2)])
def test_the_head_sizes_of_real_models(kernel, head_dim, group):
    shape = {"heads": group, "kv_heads": 1, "head_dim": head_dim, "dtype": torch.bfloat16}
    check(kernel, torch.bfloat16, paged(8, [(1, 9)], **shape))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "rows",
    [[(1, 1)], [(1, 4)], [(1, 5)], [(5, 5)], [(1, 1), (1, 33), (3, 5)]],
    ids=["one token", "a block", "a block and one", "a prompt", "ragged"],
)
def test_edges(kernel, rows):
    check(kernel, torch.float32, paged(1, rows, heads=2, kv_heads=1))


@pytest.mark.parametrize("kernel", ["tiled", "split"])
def test_the_warps_of_a_thread_block_share_a_context(kernel):
    """33 tokens: one more than they take at once. ("simple" has as many threads as head_dim.)"""
    case = paged(1, [(1, 33)], heads=2, kv_heads=1, head_dim=64)
    check(kernel, torch.float32, case, num_threads=128)


@pytest.mark.parametrize("kernel", KERNELS)
def test_large_scores_do_not_overflow(kernel):
    case = paged(2, [(1, 40)])
    case.query *= 500
    output = choose(kernel, CPU)(*case.arguments)
    close(output, exact(case), 1e-4)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_higher_score_later_shrinks_what_was_summed_before(kernel):
    """40 tokens: more than any of them takes at once; the last counts for as much as the others."""
    case = paged(2, [(1, 40)], heads=1, kv_heads=1)
    q = case.query[0, 0]
    case.key_cache.flatten(0, 1)[case.metadata.slot_mapping] = q * (4 / q.dot(q) / case.scale)
    check(kernel, torch.float32, case)


def test_auto_takes_the_kernel_for_single_tokens_and_torch_for_prompts():
    case = paged(3, [(1, 9), (17, 18), (1, 20), (1, 2)])
    launcher = Watching(owned=case.owned)
    output = PagedAttention("auto", launcher)(*case.arguments)
    close(output, exact(case))
    assert [report.grid for report in launcher.reports] == [(3, 2, 1)]


def test_a_long_context_is_cut_and_merged_and_a_short_one_beside_it_is_not():
    case = paged(4, [(1, 20), (1, 600)], heads=1, kv_heads=1, block_size=16)
    launcher = Watching(owned=case.owned)
    output = PagedAttention("auto", launcher)(*case.arguments)
    assert [report.kernel.__name__ for report in launcher.reports] == [
        "paged_attention_tiled",
        "merge_chunks",
    ]
    assert launcher.reports[0].grid == (6, 1, 1)  # 120 tokens each, five times, and 20
    (keys,) = [t for t in launcher.reports[0].traffic if t.array == "key_cache"]
    assert 1 <= keys.bytes_asked / (620 * 16 * 4) < 1.02  # what is cut is not read twice
    assert launcher.faults == []
    close(output, exact(case))


@pytest.mark.parametrize(("num_chunks", "most"), [(1, 1), (3, 1), (4, 1), (5, 2), (64, 16)])
def test_four_teams_share_the_chunks_of_a_merge(num_chunks, most):
    """most: chunks that one thread reads, one after the other. Half of the chunks are far below the
    highest score, and the last is empty, if there are several."""
    generator = torch.Generator().manual_seed(num_chunks)
    parts = torch.randn(num_chunks, 1, 1, 16, generator=generator)
    highest = torch.arange(num_chunks) % 2 * 90 + torch.randn(num_chunks, generator=generator)
    total = torch.rand(num_chunks, generator=generator) + 1
    if num_chunks > 1:
        parts[-1], highest[-1], total[-1] = 0, -1e30, 0
    output, merges = torch.empty(1, 1, 16), torch.tensor([[0, 0, 0, num_chunks]]).int()
    arrays = parts, highest.view(-1, 1, 1), total.view(-1, 1, 1), merges, output
    launcher = Watching()
    launcher.launch(merge_chunks, (1, 1), MERGE_TEAMS * 32, *arrays)
    assert launcher.faults == []
    (parts_read,) = launcher.reports[0].arrays("part_output")
    reads = Counter(parts_read.columns.thread.tolist())
    assert max(reads.values()) == most
    shares = (highest.double() - highest.max()).exp()
    expected = (parts.double().view(-1, 16) * shares[:, None]).sum(0) / (total * shares).sum()
    close(output.view(-1), expected)


def test_the_tiled_kernel_moves_what_it_must_and_the_simple_one_eight_times_that():
    def asked(kernel, name):
        case = paged(5, [(1, 64)], heads=4, kv_heads=2, head_dim=64, block_size=16)
        launcher = Watching(owned=case.owned)
        PagedAttention(kernel, launcher)(*case.arguments)
        return [t for report in launcher.reports for t in report.traffic if t.array == name]

    (tiled,), (simple,) = asked("tiled", "key_cache"), asked("simple", "key_cache")
    assert tiled.coalescing == 1
    assert tiled.bytes_asked == 64 * 2 * 64 * 4  # every K once, for both heads that share it
    assert simple.coalescing == 1 / 8
    assert simple.bytes_asked == 2 * 8 * tiled.bytes_asked  # once for each query head


def test_a_token_and_its_guesses_read_k_and_v_together():
    """Eight new tokens, 40 with those before: one thread block, which reads each K once."""
    case = paged(5, [(8, 40), (1, 8)], heads=1, kv_heads=1, head_dim=64, block_size=16)
    launcher = Watching(owned=case.owned)
    close(PagedAttention("auto", launcher)(*case.arguments), exact(case))
    assert launcher.faults == []
    (keys,) = [t for t in launcher.reports[0].traffic if t.array == "key_cache"]
    assert keys.bytes_asked == (40 + 8) * 64 * 4


@given(seed=SEEDS, rows=ROWS, dtype=st.sampled_from(list(TOLERANCE)))
@settings(max_examples=10, deadline=None)
def test_new_keys_and_values_land_in_their_slots(seed, rows, dtype):
    case = paged(seed, rows, head_dim=24, dtype=dtype)
    num_tokens = len(case.query)
    key, value = (torch.randn(num_tokens, 2, 24).to(dtype) for _ in range(2))
    launcher = Watching()
    attention = PagedAttention("tiled", launcher)
    before = case.key_cache.clone()
    attention.write_kv(case.key_cache, case.value_cache, key, value, case.metadata)
    assert launcher.faults == []
    assert len(launcher.reports) == 1
    slots = case.metadata.slot_mapping
    assert torch.equal(case.key_cache.flatten(0, 1)[slots], key)
    assert torch.equal(case.value_cache.flatten(0, 1)[slots], value)
    others = torch.ones(len(case.owned), dtype=bool)
    others[slots] = False
    assert torch.equal(
        case.key_cache.flatten(0, 1)[others].view(torch.uint8),
        before.flatten(0, 1)[others].view(torch.uint8),
    )


# In the engine -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_model_says_the_same_through_an_emulated_kernel(kernel):
    model = mb.Model(make_tiny_llama(hidden_size=64))
    with pytest.warns(UserWarning, match="No GPU runs these kernels"):
        engine = mb.Engine(model, mb.Continuous(2), attention=kernel, block_size=4)
    asked = [mb.Request(prompt, max_tokens=2, ignore_eos=True) for prompt in ([2], [4, 7, 9])]
    for request, completion in zip(asked, engine.run(asked), strict=True):
        assert_same_tokens(model, request, completion.token_ids)


def test_guesses_go_through_the_kernels_and_the_tokens_stay(monkeypatch):
    """A row of a token and its guesses: nothing is gathered for it."""
    model = mb.Model(make_tiny_llama(hidden_size=64))
    asked = [mb.Request(prompt, max_tokens=4, ignore_eos=True) for prompt in ([2], [4, 7, 9])]
    plain = mb.Engine(model, mb.Continuous(2), attention="reference")
    answers = [completion.token_ids for completion in plain.run(asked)]

    def guess(token_ids, most):
        """One that is right, and one that is as likely wrong."""
        prompt, answer = ([2], answers[0]) if token_ids[0] == 2 else ([4, 7, 9], answers[1])
        return [*answer[len(token_ids) - len(prompt) :][:1], 3][:most]

    monkeypatch.setattr(paged_attention, "attend_row", None)
    engine = mb.Engine(
        model,
        mb.Continuous(2),
        attention=PagedAttention("auto", Emulation()),
        speculation=guess,
        block_size=4,
    )
    assert [completion.token_ids for completion in engine.run(asked)] == answers
    assert len(engine.trace.steps) < len(plain.trace.steps)


# Refused -----------------------------------------------------------------------------------------


def broken(change, said):
    return pytest.param(change, said, id=said)


def set_(name, index, value):
    def change(case):
        getattr(case.metadata, name)[index] = value

    return change


def tensors(**options):
    """A case whose tensors are made otherwise."""

    def change(case):
        other = paged(6, [(1, 6), (2, 9)], **options)
        case.query, case.key_cache, case.value_cache = (
            *(other.query, other.key_cache, other.value_cache),
        )

    return change


def cut_table(case):
    case.metadata.block_tables = case.metadata.block_tables[:, :2].contiguous()


def half_query(case):
    case.query = case.query.half()


def strided(case):
    case.key_cache = case.key_cache.transpose(1, 2).contiguous().transpose(1, 2)


def other_heads(case):
    case.query = torch.randn(3, 5, 16)


def double(case):
    case.query, case.key_cache, case.value_cache = (
        *(case.query.double(), case.key_cache.double(), case.value_cache.double()),
    )


def shifted(case):
    room = torch.zeros(case.query.numel() + 1)
    case.query = room[1:].view(case.query.shape)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        broken(set_("block_tables", (0, 1), 99), "block 99 is not in the pool"),
        broken(set_("block_tables", (1, 0), -1), "block -1 is not in the pool"),
        broken(set_("seq_lens", 0, 13), "row 0 has 13 tokens; its table of 3 blocks of 4 holds"),
        broken(set_("seq_lens", 0, -3), "row 0 has -3 tokens"),
        broken(set_("seq_lens", 1, 0), "row 1 has 0 tokens"),
        broken(set_("positions", 2, 9), "token 2 is at position 9; its row has 9 tokens"),
        broken(set_("positions", 0, -1), "token 0 is at position -1"),
        broken(set_("token_rows", 1, 2), "a token has row 2; there are rows 0 to 1"),
        broken(set_("slot_mapping", 0, -1), "slot -1 is not in the pool"),
        broken(cut_table, "row 1 has 9 tokens; its table of 2 blocks of 4 holds 1"),
        broken(
            tensors(head_dim=20),
            "head_dim is 20; the kernels support multiples of 8 from 16 to 256",
        ),
        broken(tensors(head_dim=264), "head_dim is 264"),
        broken(other_heads, "5 heads of 16, the cache 2 of 16"),
        broken(half_query, "float16, torch.float32; they must share one of"),
        broken(double, "float64; they must share one of"),
        broken(strided, "K has the strides"),
        broken(shifted, "not a multiple of 16 bytes"),
    ],
)
def test_what_would_go_wrong_is_refused_before_anything_runs(kernel, change, said):
    case = paged(6, [(1, 6), (2, 9)])
    change(case)
    launcher = Watching()
    with pytest.raises(ValueError, match=said):
        PagedAttention(kernel, launcher)(*case.arguments)
    assert launcher.reports == []


def test_too_few_tokens_for_the_metadata():
    case = paged(7, [(1, 6), (2, 9)])
    with pytest.raises(ValueError, match="2 tokens need as many rows, positions and slots, not 3"):
        PagedAttention("tiled", Watching())(case.query[:2], *case.arguments[1:])


def test_auto_takes_torchs_attention_for_what_the_kernels_do_not_have():
    case = paged(9, [(1, 6), (3, 9)], head_dim=20)
    launcher = Watching()
    attention = PagedAttention("auto", launcher)
    case.key_cache.nan_to_num_(0)
    case.value_cache.nan_to_num_(0)
    close(attention(*case.arguments), exact(case))
    assert launcher.reports == []
    new = torch.randn(4, 2, 20)
    attention.write_kv(case.key_cache, case.value_cache, new, new, case.metadata)
    assert torch.equal(case.key_cache.flatten(0, 1)[case.metadata.slot_mapping], new)


def play_with_the_metadata(seed):
    """Numbers at random put anywhere: either refused, or every access is inside its array."""
    rng = random.Random(seed)
    case = paged(seed, [(1, rng.randint(1, 9)), (2, rng.randint(2, 9))])
    case.key_cache.nan_to_num_(0)
    case.value_cache.nan_to_num_(0)
    for _ in range(rng.randint(1, 3)):
        name = rng.choice(["block_tables", "seq_lens", "token_rows", "positions", "slot_mapping"])
        numbers = getattr(case.metadata, name).view(-1)
        numbers[rng.randrange(len(numbers))] = rng.choice(
            [-(2**31), -1, 0, 1, 3, 7, 8, 20, 2**31 - 1]
        )
    launcher = Watching()
    attention = PagedAttention(rng.choice(KERNELS), launcher)
    try:
        attention.write_kv(
            *case.arguments[1:3], torch.zeros(3, 2, 16), torch.zeros(3, 2, 16), case.metadata
        )
        attention(*case.arguments)
    except ValueError:
        assert launcher.reports == []
    assert [fault for fault in launcher.faults if fault.kind == "out of bounds"] == []
    return bool(launcher.reports)


def test_metadata_that_passes_cannot_make_a_kernel_read_outside_the_pool():
    ran = [play_with_the_metadata(seed) for seed in range(30)]
    assert any(ran)
    assert not all(ran)


@pytest.mark.slow
def test_nor_can_any_of_many_more():
    for seed in range(30, 200):
        play_with_the_metadata(seed)


@pytest.mark.parametrize("driver_says", ["\nCUDA driver library cannot be found.\n", None])
def test_a_refused_device_names_the_driver_and_the_compiler(monkeypatch, driver_says):
    from minibatch.attention.cuda import gpu

    monkeypatch.setattr(gpu.cuda, "is_available", lambda: False)
    monkeypatch.setattr(gpu.cuda, "cuda_error", lambda: driver_says)
    with pytest.raises(RuntimeError, match=r"580.* numba-cuda\[cu13\]") as refusal:
        gpu.GPU(torch.device("cuda"))
    assert (driver_says or "").strip() in str(refusal.value)
    assert "\n" not in str(refusal.value)


@pytest.mark.filterwarnings("error")
def test_a_small_grid_is_launched_without_a_warning():
    from minibatch.attention.cuda.gpu import cuda

    cuda.dispatcher._LaunchConfiguration(None, (1, 1, 1), (32, 1, 1), None, 0)


def test_all_engines_of_a_process_share_the_compiled_kernels(monkeypatch):
    compiled = []

    def kernel():
        """Of this test alone: its stand-in stays in the cache."""

    def jit(**options):
        return lambda kernel: compiled.append(kernel) or MagicMock()

    for name, stand_in in {
        "is_available": lambda: True,
        "select_device": lambda index: None,
        "external_stream": lambda handle: None,
        "jit": jit,
    }.items():
        monkeypatch.setattr(gpu.cuda, name, stand_in)
    properties = SimpleNamespace(multi_processor_count=132)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    stream = SimpleNamespace(cuda_stream=0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: stream)
    for _ in range(2):
        choose("tiled", torch.device("cuda")).launcher.launch(kernel, (1, 2), 32, 5)
    assert compiled == [kernel]


def test_the_emulation_says_that_it_is_slow():
    with pytest.warns(UserWarning, match="thousands of times slower"):
        Emulation()
