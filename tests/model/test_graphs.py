"""Decode steps recorded and replayed, by the stand-in for torch.cuda: the tokens are those without
graphs, a replay reads nothing but its buffers, and what is no decode step goes the ordinary way."""

import gc
from collections import deque
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
import torch
from architectures import build
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import assert_same_sample, assert_same_tokens
from paged import exact, metadata_of, paged
from stand_in_gpu import Launcher, StandInCUDA, Waits, memory, spoil
from tiny import make_tiny_llama

import minibatch as mb
from minibatch import kernel_lab as lab
from minibatch.attention import reference_attention
from minibatch.attention.cuda.paged_attention import PagedAttention
from minibatch.core.plan import Row, StepPlan
from minibatch.core.request import Sequence
from minibatch.model.graphs import DecodeGraphs, StaticAttention
from minibatch.simulator.pretend import PretendModel

KERNELS = ["auto", "tiled", "split", "simple"]


@pytest.fixture(scope="module")
def model():
    return mb.Model(make_tiny_llama(hidden_size=64))  # head_dim 16: the kernels take it


@pytest.fixture
def cuda(monkeypatch):
    return StandInCUDA(monkeypatch)


def serve(model, cuda, scheduler, asked, *, graphs=True, kernel="auto", **options):
    """An engine, and what it answers. All that a step has on the host is overwritten before its
    graph is replayed: its own inputs, since the next step's may have been built already."""
    attention = PagedAttention(kernel, Launcher(cuda))
    options = {"block_size": 4, "clock": mb.VirtualClock()} | options
    engine = mb.Engine(model, scheduler, attention=attention, **options)
    engine.on_step(lambda record: engine.check_invariants())
    if graphs:
        record(engine, cuda)
    return engine, [completion.token_ids for completion in engine.run(asked)]


def record(engine, cuda):
    runner, most_rows = engine.runner, engine.scheduler.max_batch_size
    graphs = DecodeGraphs(runner, most_rows, engine.model.max_model_len)
    built, waiting = graphs._built, deque()

    def remembering(*arguments):
        waiting.append(built(*arguments))
        return waiting[-1]

    def forget():
        token_ids, metadata = waiting.popleft()
        spoil([token_ids, *map(torch.from_numpy, metadata.uploaded.values())])

    runner.graphs, graphs._built, cuda.before_replay = graphs, remembering, forget


def ask(*lengths, **options):
    """Requests of (prompt, answer) tokens."""
    prompts = ([(7 + 31 * i * i) % 96 for i in range(n)] for n, _ in lengths)
    return [
        mb.Request(prompt, max_tokens=most, ignore_eos=True, **options)
        for prompt, (_, most) in zip(prompts, lengths, strict=True)
    ]


# What is computed --------------------------------------------------------------------------------

PROMPT = [5, 17, 80, 33, 2, 60, 41, 9, 77, 13, 28, 54, 66, 3, 90, 21]


@st.composite
def traffic(draw):
    requests = []
    for i in range(draw(st.integers(1, 7))):
        alike, own = draw(st.integers(0, 16)), draw(st.lists(st.integers(2, 127), max_size=5))
        requests.append(
            mb.Request(
                PROMPT[:alike] + own or [4],
                max_tokens=draw(st.integers(1, 9)),
                temperature=draw(st.sampled_from([0.0, 1.0])),
                seed=i,
                arrival_time=draw(st.integers(0, 8)) * 0.03,
                request_id=f"r{i}",
            )
        )
    return requests


@given(
    asked=traffic(),
    kernel=st.sampled_from(KERNELS),
    block_size=st.sampled_from([1, 4, 16]),
    most_rows=st.integers(1, 6),
    chunks=st.sampled_from([None, 7]),
    spare=st.sampled_from([0, 2, 100]),
    prefix_caching=st.booleans(),
    overlap=st.booleans(),
)
@settings(max_examples=12)
def test_tokens_are_those_without_graphs(
    model, asked, kernel, block_size, most_rows, chunks, spare, prefix_caching, overlap
):
    """With arrivals and ends, shared and preempted blocks, chunks of prompts, draws, and steps that
    overlap."""
    largest = max(-(-(len(one.prompt) + one.max_tokens) // block_size) for one in asked)
    options = {
        "kernel": kernel,
        "block_size": block_size,
        "num_blocks": largest + spare,
        "prefix_caching": prefix_caching,
    }
    answers = []
    with pytest.MonkeyPatch.context() as patch:
        cuda = StandInCUDA(patch)
        for graphs in (False, True):
            policy = mb.Continuous(most_rows, max_batch_tokens=chunks)
            options["overlap"] = overlap and graphs
            engine, tokens = serve(model, cuda, policy, asked, graphs=graphs, **options)
            answers.append(tokens)
            assert engine.pool.num_free == engine.pool.num_blocks
        long_answers = [one for one in tokens if len(one) > 1]
        assert cuda.num_replays > 0 or not long_answers
    for request, expected, got in zip(asked, *answers, strict=True):
        compare = assert_same_sample if request.temperature else assert_same_tokens
        compare(model, request, got, expected)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("GPT2", {}),
        ("Phi3", {"num_key_value_heads": 2}),
        ("Mixtral", {"num_key_value_heads": 2, "num_local_experts": 4}),
    ],
)
def test_models_of_other_kinds(cuda, name, options):
    model = mb.Model(build(name, hidden_size=64, **options))
    asked = ask((4, 6), (9, 4), (2, 5))
    answers = [
        serve(model, cuda, mb.Continuous(4), asked, graphs=graphs)[1] for graphs in (False, True)
    ]
    for request, expected, got in zip(asked, *answers, strict=True):
        assert_same_tokens(model, request, got, expected)
    assert cuda.num_replays == 5


@pytest.mark.parametrize("kernel", ["auto", "split"])
def test_the_kernels_take_a_work_list_with_nothing_at_its_end(kernel):
    """The real ones, in the kernel lab: a list, a longer one in its place, and the first again."""
    case = paged(4, [(1, 20), (1, 600)], heads=1, kv_heads=1, block_size=16)
    reports, cache = [], SimpleNamespace(keys=[case.key_cache])
    attention = StaticAttention(PagedAttention(kernel, InTheLab(reports)), longest=2048)
    tables = case.metadata.block_tables.tolist()
    for lengths in (7, 30), (20, 600), (7, 30):
        new = metadata_of([(1, n) for n in lengths], tables, 16)
        case.metadata.positions.copy_(new.positions)
        attention.renew(new, cache)
        output = attention(*case.arguments)
        torch.testing.assert_close(output.double(), exact(case), rtol=2e-5, atol=2e-5)
    assert len({report.grid for report in reports if "tiled" in report.kernel.__name__}) == 1
    assert [fault for report in reports for fault in report.faults] == []


class InTheLab:
    num_multiprocessors, compute_capability, num_threads = 2, (9, 0), 32

    def __init__(self, reports):
        self.reports = reports

    def launch(self, kernel, grid, num_threads, *arguments):
        self.reports.append(lab.run(kernel, grid, num_threads, *arguments))


def test_a_replay_reads_its_buffers_the_weights_and_the_cache_and_nothing_else(model, cuda):
    engine, _ = serve(model, cuda, mb.Continuous(3), ask((2, 3), (9, 2)))
    runner = engine.runner
    graphs, attention = runner.graphs, runner.graphs._attention
    (work,) = attention._buffers.values()
    buffers = [graphs._token_ids, graphs._keep, graphs._logits, *graphs._inputs.values(), *work]
    kept = [attention._workspace, runner._no_mask, *runner.kv_cache.keys, *runner.kv_cache.values]
    known = [*buffers, *kept, *model.hf.parameters(), *model.hf.buffers()]
    for graph in cuda.graphs:
        assert graph.outside.keys() <= {memory(each) for each in known}


def test_dummy_rows_write_to_the_block_that_nobody_owns(model, cuda):
    """Five rows in a graph for eight: their five slots change, and that block."""
    engine, _ = serve(model, cuda, mb.Continuous(8), ())
    for request in ask(*[(i, 9) for i in range(1, 6)]):
        engine.add(request)
    engine.step()
    cache = engine.runner.kv_cache
    for _ in range(3):
        before = [each.clone() for each in (*cache.keys, *cache.values)]
        places = [s.num_computed_tokens for s in engine.scheduler.running]
        engine.step()
        slots = {
            sequence.block_table[place // 4] * 4 + place % 4
            for sequence, place in zip(engine.scheduler.running, places, strict=True)
        }
        for old, new in zip(before, (*cache.keys, *cache.values), strict=True):
            changed = (old != new).flatten(0, 1).flatten(1).any(dim=1).nonzero().flatten()
            assert set(changed.tolist()) <= slots | {cache.scratch_slot}
            assert slots <= set(changed.tolist())
    assert cuda.num_replays == 3


def test_a_replayed_step_waits_for_the_sampled_tokens_alone(model, cuda):
    engine, _ = serve(model, cuda, mb.Continuous(4), ())
    launcher = engine.runner.attention.launcher
    for request in ask((2, 5), (9, 5), (30, 5)):
        engine.add(request)
    engine.step()
    num_launches = launcher.num_launches
    for _ in range(3):
        with Waits() as waits:
            engine.step()
        assert waits.seen == {"tolist": 1}
    assert cuda.num_replays == 3
    assert launcher.num_launches == num_launches  # started by nobody but the graph


# Which steps -------------------------------------------------------------------------------------


def replays(model, cuda, *arguments, **options):
    """Whether each step was a replay; and the engine."""
    engine, _ = serve(model, cuda, *arguments, (), **options)
    seen, before = [], [0]

    @engine.on_step
    def look(record):
        seen.append(cuda.num_replays > before[0])
        before[0] = cuda.num_replays

    return engine, seen


def test_prompts_and_mixed_steps_go_the_ordinary_way(model, cuda):
    engine, seen = replays(model, cuda, mb.Continuous(3, max_batch_tokens=5))
    engine.run(ask((4, 4)) + ask((8, 3), arrival_time=0.06))
    kinds = [{row.kind for row in step.rows} == {"decode"} for step in engine.trace.steps]
    assert seen == kinds
    assert len(set(seen)) == 2
    mixed = [len({row.kind for row in step.rows}) == 2 for step in engine.trace.steps]
    assert any(mixed)


def test_guesses_go_the_ordinary_way(model, cuda):
    guess = {"speculation": lambda token_ids, most: [3, 4][:most]}
    engine, seen = replays(model, cuda, mb.Continuous(3), **guess)
    engine.run(ask((4, 5)))
    assert seen == [False] * 4 + [True]  # at the end there is no room for a guess


def test_padding_goes_the_ordinary_way(model, cuda):
    engine, seen = replays(model, cuda, mb.Static(2))
    engine.run(ask((4, 2), (4, 4)))
    assert seen == [False, True, False, False]


def row(num_tokens=1, left=1, num_blocks=1, **more):
    """Of a sequence of four tokens, of which `left` are to be computed."""
    sequence = Sequence(mb.Request([5]), "A", [5, 6, 7, 8], num_prompt_tokens=4)
    sequence.num_computed_tokens, sequence.block_table = 4 - left, list(range(num_blocks))
    return Row(sequence, num_tokens, **more)


@pytest.mark.parametrize(
    ("rows", "taken"),
    [
        ([row(), row()], True),
        ([row(), row(left=2)], False),  # a token in the middle of a prompt
        ([row(), row(2, left=2)], False),
        ([row(), row(draft=[9])], False),
        ([row(), row(num_padding_tokens=2)], False),
        ([row(), row(0, left=0, num_padding_tokens=1)], False),
        ([row(), row(num_blocks=65)], False),  # 256 tokens are 64
        ([row(), row(), row()], False),
    ],
)
def test_a_graph_is_for_steps_in_which_every_row_decodes(model, cuda, rows, taken):
    engine, _ = serve(model, cuda, mb.Continuous(2), ())
    assert engine.runner.graphs.take(StepPlan(rows)) == taken


def test_a_table_that_leaves_the_pool_is_refused_before_the_replay(model, cuda):
    engine, _ = serve(model, cuda, mb.Continuous(2), ())
    wrong = row()
    wrong.sequence.block_table = [engine.pool.num_blocks + 1]
    with pytest.raises(ValueError, match="slot .* is not in the pool, which has 0 to"):
        engine.runner.forward(StepPlan([wrong]))
    assert cuda.num_replays == 0
    assert engine.runner.forward(StepPlan([row()])).shape == (1, 128)


def test_more_rows_than_any_graph_has_go_the_ordinary_way(model, cuda, monkeypatch):
    monkeypatch.setattr("minibatch.model.graphs.MOST_ROWS", 3)
    engine, seen = replays(model, cuda, mb.Continuous(5))
    engine.run(ask(*[(3, 3 + i) for i in range(5)]))
    assert seen == [False, False, False, False, True, True, True]
    assert engine.runner.graphs.sizes == [1, 2, 3]


# How they are recorded ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most_rows", "sizes"), [(1, [1]), (2, [1, 2]), (6, [1, 2, 4, 6]), (8, [1, 2, 4, 8])]
)
def test_the_largest_comes_first_and_all_share_its_memory(model, cuda, most_rows, sizes):
    engine, _ = serve(model, cuda, mb.Continuous(most_rows), ())
    assert engine.runner.graphs.sizes == sizes
    assert list(engine.runner.graphs._graphs) == sizes[::-1]
    assert len({id(graph.pool) for graph in cuda.graphs}) == 1
    (stream,) = {stream for _, stream in cuda.log}  # tried on the stream that records
    assert cuda.log == [("tried", stream), ("recorded", stream)] * len(sizes)
    assert stream is not torch.cuda.current_stream()


@pytest.mark.parametrize("before", [True, False])
def test_pythons_collector_is_off_while_a_graph_is_recorded(model, cuda, monkeypatch, before):
    """It may unload a kernel that nobody uses, which is not allowed in a recording."""
    seen, graph = [], cuda.graph

    @contextmanager
    def watched(*arguments, **options):
        with graph(*arguments, **options):
            seen.append(gc.isenabled())
            yield

    monkeypatch.setattr(torch.cuda, "graph", watched)
    monkeypatch.setattr(gc, "collect", lambda: seen.append("collected"))
    (gc.enable if before else gc.disable)()
    try:
        serve(model, cuda, mb.Continuous(2), ())
        assert seen == ["collected", False] * 2
        assert gc.isenabled() == before
    finally:
        gc.enable()


def check_for_nan(module, given, result):
    assert not result.isnan().any().item()


def test_a_model_that_reads_a_number_on_the_host_is_refused_before_anything_is_recorded(cuda):
    model = mb.Model(make_tiny_llama(hidden_size=64))
    model.hf.model.norm.register_forward_hook(check_for_nan)
    with pytest.raises(RuntimeError, match="a decode step of 2 rows cannot be recorded: called a"):
        serve(model, cuda, mb.Continuous(2), ())
    assert cuda.graphs == []
    serve(model, cuda, mb.Continuous(2), ask((2, 3)), graphs=False)  # nobody refuses any more


def test_memory_that_runs_out_while_recording_says_what_to_lower(model, cuda):
    engine, _ = serve(model, cuda, mb.Continuous(2), (), graphs=False)
    compute = engine.runner.compute

    def fail(*arguments):
        if cuda.recording:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return compute(*arguments)

    engine.runner.compute = fail
    with pytest.raises(RuntimeError, match="CUDA out of memory.*lower num_blocks or max_batch"):
        record(engine, cuda)
    assert gc.isenabled()


def test_heads_that_the_kernels_do_not_have_are_refused(cuda):
    with pytest.raises(
        RuntimeError, match="head_dim is 8; the kernels support multiples of 8 from 16 to 256"
    ):
        serve(mb.Model(make_tiny_llama()), cuda, mb.Continuous(2), ())


# Refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [lambda model: model, lambda _: PretendModel()])
def test_without_a_gpu_it_says_what_to_do(model, make):
    policy = mb.Continuous(2)
    with pytest.raises(ValueError, match="cuda_graphs=True needs an NVIDIA GPU.*leave cuda_graphs"):
        mb.Engine(make(model), policy, cuda_graphs=True)
    mb.Engine(make(model), policy)  # which is not used up


def test_attention_that_reads_lengths_on_the_host_is_refused(model, monkeypatch):
    runner = mb.Engine(model, mb.Continuous(2), attention=reference_attention).runner
    monkeypatch.setattr(type(model.hf), "device", torch.device("cuda"))
    with pytest.raises(ValueError, match="attention is reference_attention: give attention="):
        runner.use_graphs(2, 256)
