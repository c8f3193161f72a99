"""Bytes and operations from shapes; stopwatches add up and take turns. No timing is asserted."""

from types import SimpleNamespace

import pytest
import torch
from tiny import make_tiny_llama

import minibatch as mb
from minibatch.attention import cpu_threads
from minibatch.bench import measure, stopwatch
from minibatch.simulator import cost

WATCH = stopwatch.Stopwatch(torch.device("cpu"), cpu_time=True)


def test_a_tied_embedding_table_is_read_once_as_the_output_layer():
    model = mb.load_model("wayfarer", device="cpu")
    assert cost.num_weights(model) == model.hf.num_parameters() == 4_951_296


def test_an_embedding_table_that_is_only_looked_up_is_not_read(tiny_model):
    table = tiny_model.hf.get_input_embeddings().weight
    assert cost.num_weights(tiny_model) == tiny_model.hf.num_parameters() - table.numel()


def test_a_decode_step_costs_what_its_matrices_hold():
    model = mb.Model(make_tiny_llama())  # 2 layers, hidden 32, 4 heads and 2 KV heads of 8
    attention = 32 * 32 + 2 * 32 * 16 + 32 * 32
    weights = 2 * (attention + 3 * 32 * 64 + 2 * 32) + 32 + 128 * 32
    step = cost.decode_step(model, batch_size=3, context=10)
    assert step.weight_bytes == 4 * weights
    assert step.kv_bytes == 3 * 10 * (2 * 2 * 2 * 8 * 4)
    assert step.flops == 3 * (2 * weights + 4 * (2 * 4 * 8) * 10)
    assert step.intensity == step.flops / (step.weight_bytes + step.kv_bytes)


def test_a_larger_batch_shares_weights_and_not_kv(tiny_model):
    one, many = (cost.decode_step(tiny_model, n, 100) for n in (1, 8))
    assert many.weight_bytes == one.weight_bytes
    assert many.kv_bytes == 8 * one.kv_bytes
    assert many.flops == 8 * one.flops


def test_a_roof_is_bandwidth_on_the_left_and_arithmetic_on_the_right():
    roof = cost.Roof("card", bytes_per_s=100.0, flops_per_s=1000.0, source="made up")
    assert roof.ridge == 10
    assert [roof.flops_at(x) for x in (1, 10, 100)] == [100, 1000, 1000]
    assert roof.time(cost.StepCost(weight_bytes=150, kv_bytes=50, flops=10)) == 2.0
    assert roof.time(cost.StepCost(weight_bytes=1, kv_bytes=1, flops=5000)) == 5.0


def test_the_data_sheets_figures_are_as_cited():
    assert (cost.A100.bytes_per_s, cost.A100.flops_per_s) == (1.555e12, 312e12)
    assert (cost.H200.bytes_per_s, cost.H200.flops_per_s) == (4.8e12, 989e12)


def test_a_step_s_parts_are_all_there_and_add_up(tiny_model):
    (time,) = measure.step_times(tiny_model, (2,), (20,), repeats=2)
    assert (time.batch_size, time.context) == (2, 20)
    assert min(time.weights_s, time.attention_s, time.other_s) > 0
    assert time.total_s == pytest.approx(time.weights_s + time.attention_s + time.other_s)
    assert time.tokens_per_s == pytest.approx(2 / time.total_s)


@pytest.mark.parametrize(
    ("platform", "words"),
    [("linux", "CPU time of this process, one thread"), ("win32", "time, one thread")],
)
def test_what_is_measured_says_in_which_time(tiny_model, monkeypatch, platform, words):
    monkeypatch.setattr(stopwatch, "sys", SimpleNamespace(platform=platform))
    (step,) = measure.step_times(tiny_model, (1,), (4,), repeats=1)
    (token,) = measure.token_costs(tiny_model, (4,), repeats=1)
    took = measure.alternating({"A": list}, rounds=1)
    assert step.conditions == token.conditions == took.conditions == words
    assert words in str(took)
    assert words in mb.plots.token_costs([token]).axes[0].get_xlabel()


@pytest.fixture
def _four_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("_four_threads")
def test_while_measuring_the_engine_s_own_loops_have_one_thread_too():
    seen = []
    measure.alternating({"A": lambda: seen.append(cpu_threads.num_threads())}, rounds=1)
    stopwatch.quickest([lambda: seen.append(cpu_threads.num_threads())], 1, WATCH)
    assert set(seen) == {1}
    assert cpu_threads.num_threads() == 4


@pytest.mark.usefixtures("_four_threads")
def test_an_engine_s_clock_for_comparing_counts_one_thread(monkeypatch):
    assert type(measure.clock(torch.device("cpu"))) is mb.ProcessClock
    assert torch.get_num_threads() == 1
    monkeypatch.setattr(stopwatch, "sys", SimpleNamespace(platform="win32"))
    assert type(measure.clock(torch.device("cpu"))) is mb.WallClock


def test_timing_leaves_no_hooks_on_the_model(tiny_model):
    measure.step_times(tiny_model, (1,), (4,), repeats=1)
    for module in tiny_model.hf.modules():
        assert not module._forward_hooks
        assert not module._forward_pre_hooks


def test_the_timed_step_is_a_decode_step_over_the_whole_context(tiny_model, monkeypatch):
    seen = []

    def watched(query, keys, values, metadata, scale):
        seen.append((query.shape[0], metadata.seq_lens.tolist()))
        return mb.attention.reference_attention(query, keys, values, metadata, scale)

    monkeypatch.setattr(measure, "choose", lambda *_: watched)
    measure.step_times(tiny_model, (3,), (20,), repeats=1)
    assert set(map(str, seen)) == {str((3, [21, 21, 21]))}


def test_a_context_longer_than_the_model_s_is_refused(tiny_model):
    with pytest.raises(ValueError, match="are longer than this model's context of 256"):
        measure.step_times(tiny_model, (1,), (256,))


def test_token_costs_are_measured_at_every_length(tiny_model):
    costs = measure.token_costs(tiny_model, (2, 40), repeats=1)
    assert [c.length for c in costs] == [2, 40]
    assert all(c.cached_s > 0 and c.uncached_s > 0 for c in costs)


def test_this_machine_is_measured(monkeypatch):
    monkeypatch.setattr(measure, "MEGABYTE", 1 << 12)  # a megabyte is enough to see it work
    roof = measure.this_machine("cpu", torch.float32)
    assert roof.bytes_per_s > 0
    assert roof.flops_per_s > 0
    assert "measured" in roof.source


class KnownCosts(mb.PretendModel):
    """Its steps take, by a clock of their own, exactly what is in them."""

    kv_shapes = ((2, 4), (2, 4))
    costs = cost.CostModel(0.004, 0.0003, 0.0002, 5e-9, 2 * 2 * 8 * 4, "made up", 2e-7)
    now = 0.0

    def runner(self, pool, attention):
        return self

    def run(self, plan):
        self.now += self.costs(plan)


@pytest.mark.parametrize("max_model_len", [2048, 128])
def test_a_cost_model_finds_what_the_runner_s_steps_cost(monkeypatch, max_model_len):
    model = KnownCosts()
    model.max_model_len = max_model_len
    monkeypatch.setattr(stopwatch.time, "process_time", lambda: model.now)
    threads = torch.get_num_threads()
    found = measure.cost_model(model)
    for name in ("step", "row", "prompt_token", "kv_byte", "pair"):
        name = f"seconds_per_{name}"
        assert getattr(found, name) == pytest.approx(getattr(model.costs, name), rel=1e-6)
    assert found.kv_bytes_per_token == 128
    assert "measured here" in found.source
    assert f"prompts of up to {min(max_model_len, 1300):,} tokens" in found.source
    assert torch.get_num_threads() == threads


def test_a_stopwatch_adds_up_parts_and_counts_them(tiny_model, monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr(stopwatch.time, "perf_counter", lambda: next(ticks))
    watch = stopwatch.Stopwatch(torch.device("cpu"))
    for _ in range(3):
        with watch.part("three"):
            pass
    watch.around("one", lambda: None)()
    assert watch.seconds == {"three": 3, "one": 1}
    assert watch.counts == {"three": 3, "one": 1}
    watch.reset()
    assert watch.seconds == {}


def test_time_in_modules_is_counted_while_open(tiny_model):
    watch = stopwatch.Stopwatch(torch.device("cpu"))
    ids = torch.tensor([[2, 3]])
    with watch.inside([tiny_model.hf], "forward"):
        tiny_model.hf(ids)
        tiny_model.hf(ids)
    tiny_model.hf(ids)
    assert watch.counts == {"forward": 2}
    assert watch.seconds["forward"] > 0


@pytest.fixture
def spend(monkeypatch):
    """A process whose time passes only when told."""
    now = [0.0]
    monkeypatch.setattr(stopwatch.time, "process_time", lambda: now[0])
    monkeypatch.setattr(stopwatch, "sys", SimpleNamespace(platform="linux"))

    def spend(seconds):
        now[0] += seconds

    return spend


def test_runs_take_turns_and_the_middle_round_counts(spend):
    order, takes = [], {"A": iter((3.0, 2.0, 8.0)), "B": iter((1.0, 1.0, 2.0))}

    def run(name):
        order.append(name)
        spend(next(takes[name]))

    took = measure.alternating({name: lambda name=name: run(name) for name in "AB"})
    assert "".join(order) == "ABABAB"
    assert took.seconds == {"A": [3, 2, 8], "B": [1, 1, 2]}
    assert took.median("A") == 3
    assert took.spread("A") == 2
    assert took.times_as_long("A", "B") == 3  # of 3, 2 and 4
    assert str(took).splitlines()[0].split() == ["A", "3", "s", "spread", "200.0%"]


def test_runs_that_yield_take_turns_piece_by_piece(spend):
    order = []

    def pieces(name, seconds):
        for _ in range(3):
            order.append(name)
            spend(seconds)
            yield name

    took = measure.alternating({"A": lambda: pieces("A", 2), "B": lambda: pieces("B", 1)}, rounds=1)
    assert "".join(order) == "ABABAB"
    assert took.seconds == {"A": [6], "B": [3]}


def test_the_quickest_of_some_turns_counts_with_its_parts(spend):
    watch = stopwatch.Stopwatch(torch.device("cpu"), cpu_time=True)
    takes = iter((9.0, 5.0, 4.0, 7.0, 3.0))  # the first of all is not counted

    def act():
        spend(1.0)
        with watch.part("inside"):
            spend(next(takes))

    assert stopwatch.quickest([act], 2, watch) == [{"inside": 3, "total": 4}]
