"""When requests arrive, and how long their answers may be."""

import subprocess
import sys

import pytest

import minibatch as mb


def some(n):
    return [mb.Request([0], request_id=str(i)) for i in range(n)]


def test_bursts_arrive_together_and_the_first_at_once():
    times = [request.arrival_time for request in mb.workload.bursts(some(5), size=2, every=0.5)]
    assert times == [0.0, 0.0, 0.5, 0.5, 1.0]


def test_those_of_a_burst_may_come_one_by_one_within_a_time():
    times = [r.arrival_time for r in mb.workload.bursts(some(40), size=20, every=5, within=2)]
    assert times == sorted(times)
    assert all(0 <= time <= 2 for time in times[:20])
    assert all(5 <= time <= 7 for time in times[20:])
    assert len(set(times)) == 40


def test_a_burst_is_over_before_the_next_begins():
    with pytest.raises(ValueError, match="within is 6; give seconds from 0 to 5"):
        mb.workload.bursts(some(2), size=1, every=5, within=6)


def test_poisson_arrivals_are_in_order_and_at_the_rate_asked_for():
    requests = mb.workload.poisson(some(4000), rate=8)
    times = [request.arrival_time for request in requests]
    assert times == sorted(times)
    assert times[-1] == pytest.approx(4000 / 8, rel=0.05)


def test_the_same_seed_gives_the_same_arrivals_and_another_seed_others():
    def times(seed):
        return [r.arrival_time for r in mb.workload.poisson(some(3), rate=1, seed=seed)]

    assert times(1) == times(1) != times(2)


def test_the_requests_themselves_are_left_as_they_were():
    requests = some(2)
    mb.workload.bursts(requests, size=1, every=1)
    assert [request.arrival_time for request in requests] == [None, None]


@pytest.mark.parametrize("rate", [0, -1, float("inf"), float("nan")])
def test_a_rate_must_be_a_number_above_zero(rate):
    with pytest.raises(ValueError, match="requests per second, above 0"):
        mb.workload.poisson(some(1), rate)


@pytest.mark.parametrize(("size", "every"), [(0, 1), (1, 0), (1, float("inf"))])
def test_a_burst_needs_a_size_and_a_gap(size, every):
    with pytest.raises(ValueError, match="1 or more, every above 0 s"):
        mb.workload.bursts(some(1), size, every)


def test_outputs_can_be_scaled_down(tiny_model):
    requests = mb.workload.agents(tiny_model, 8, prompt_scale=0.1, output_scale=0.1)
    assert [request.max_tokens for request in requests] == [2, 4, 8, 12, 15, 9, 6, 20]
    assert all(request.ignore_eos for request in requests)


@pytest.mark.parametrize("scale", [0, 1.5, -1])
def test_a_share_of_the_outputs_is_above_zero_and_at_most_one(tiny_model, scale):
    with pytest.raises(ValueError, match=r"output_scale is .*; give a share in \(0, 1\]"):
        mb.workload.agents(tiny_model, 8, output_scale=scale)


@pytest.mark.parametrize("module", ["simulator.workload", "simulator.streams", "engine.engine"])
def test_a_run_without_a_model_imports_no_torch(module):
    code = f"import sys, minibatch.{module}; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
