"""Bytes and operations from shapes; stopwatches that add up. No timing is asserted."""

import pytest
import torch
from tiny import make_tiny_llama

import minibatch as mb
from minibatch.bench import measure, stopwatch
from minibatch.simulator import cost


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
    with pytest.raises(ValueError, match="256 tokens and one more: this model's holds 256"):
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
