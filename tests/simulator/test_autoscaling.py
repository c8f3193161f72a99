"""How many replicas a fleet has: demand, delays, start-up, draining, and what it costs."""

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator.fleet import KVUse, Load, OngoingRequests, QueueTokens
from minibatch.simulator.traffic import Lengths

QUICK = {"interval_s": 1.0, "look_back_s": 0.0, "upscale_delay_s": 0.0, "downscale_delay_s": 5.0}


def load(now, num_replicas, num_ongoing, tokens=0, kv_use=0.0):
    return Load(now, num_replicas, num_replicas, num_ongoing, tokens, kv_use, 4)


def test_each_signal_has_its_demand():
    assert OngoingRequests(5.0).demand(load(0, 2, 20)) == 4
    assert QueueTokens(1000).demand(load(0, 2, 4, tokens=3000)) == 3
    assert QueueTokens(1000).demand(load(0, 2, 16, tokens=3000)) == 4  # a place for each
    assert KVUse(0.5).demand(load(0, 3, 9, kv_use=0.75)) == 4.5


def test_a_demand_must_last_before_it_counts():
    scaler = OngoingRequests(1.0, 1, 8, look_back_s=0.0, upscale_delay_s=30, downscale_delay_s=60)
    wants = [scaler.want(load(t, 2, 4)) for t in range(0, 50, 10)]
    assert wants == [2, 2, 2, 4, 4]
    scaler.want(load(50, 4, 4))
    assert [scaler.want(load(t, 4, 1)) for t in range(60, 140, 10)] == [4] * 6 + [1, 1]


def test_the_demand_is_averaged_and_limited():
    scaler = OngoingRequests(1.0, 1, 3, look_back_s=30.0, upscale_delay_s=0, downscale_delay_s=0)
    assert [scaler.want(load(t, 1, n)) for t, n in ((0, 1), (10, 4), (20, 40))] == [1, 3, 3]


def test_a_fleet_of_none_starts_at_once_and_its_first_request_waits_for_the_start():
    traffic = mb.Traffic(np.array([20.0]), np.array([10]), np.array([2]))
    scaler = OngoingRequests(2.0, 0, 4, **QUICK)
    run = mb.Fleet(mb.Continuous(4), 0.1, 1, autoscaler=scaler, start_s=30.0).run(traffic)
    assert run.failure[0] == ""
    assert 30 <= run.ttft[0] <= 32
    assert [life[1:3] for life in run.lives][0] == (0.0, 0.0)
    assert run.lives[0].ended < 20 < run.lives[1].started < run.lives[1].ready


@pytest.mark.parametrize(
    ("rule", "target"), [(OngoingRequests, 3.0), (QueueTokens, 50), (KVUse, 0.5)]
)
def test_replicas_follow_the_load_and_no_request_is_lost(rule, target):
    scaler = rule(target, 1, 6, **QUICK)
    traffic = mb.traffic.ramp(0.5, 12.0, 400, Lengths.equal(20, 20), seed=3)
    fleet = mb.Fleet(mb.Continuous(4), 0.05, 1, num_blocks=10, autoscaler=scaler, start_s=2.0)
    run = fleet.run(traffic)
    assert (run.failure == "").all()
    assert run.num_held_blocks == 0
    most = run.num_on(np.linspace(0, run.finish.max(), 200)).max()
    assert 2 < most <= 6
    fixed = mb.Fleet(mb.Continuous(4), 0.05, 6, num_blocks=10).run(traffic)
    assert run.replica_seconds < fixed.replica_seconds
    assert run.cost(3600.0) == pytest.approx(run.replica_seconds)
    assert run.cost_per_million(3600.0) == pytest.approx(run.replica_seconds / (400 * 20) * 1e6)


def test_fewer_and_busier_replicas_cost_less_and_answer_later():
    traffic = mb.traffic.poisson(6.0, 500, Lengths.equal(20, 20), seed=3)
    few, many = (mb.Fleet(mb.Continuous(8), 0.05, n).run(traffic) for n in (2, 8))
    assert few.cost_per_million(1.0) < many.cost_per_million(1.0)
    assert few.ttft.mean() > many.ttft.mean()


def test_what_cannot_be_is_refused_with_the_numbers():
    with pytest.raises(ValueError, match="max_replicas is 1; it must be 3 or more"):
        OngoingRequests(2.0, 3, 1)
    with pytest.raises(ValueError, match="target is 2; it must be above 0 and at most 1"):
        KVUse(2)
    apart = mb.fleet.Apart(1, 1, 1e9)
    with pytest.raises(ValueError, match="leave out apart= or autoscaler="):
        mb.Fleet(mb.Continuous(4), 0.1, 3, apart=apart, autoscaler=OngoingRequests())
