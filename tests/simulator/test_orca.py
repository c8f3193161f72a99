"""Orca's comparison: rates at a latency target."""

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator import orca
from minibatch.simulator.orca import EIGHT, ONE, ORCA, ORCA_32


def test_one_server_ends_each_request_when_the_simulator_does():
    traffic = orca.requests(0.3, 1, ONE.num_requests)
    run = mb.simulate(mb.Sequential(), traffic, orca.MACHINE)
    ends = orca.one_after_another(traffic.arrival, orca._service(1, orca.MACHINE))
    assert ends == pytest.approx(run.finish)


def test_a_higher_rate_brings_the_same_requests_closer_together():
    slow, fast = orca.requests(1.0, 3, 50), orca.requests(4.0, 3, 50)
    assert fast.arrival == pytest.approx(slow.arrival / 4)
    assert np.array_equal(fast.output, slow.output)


def test_the_floor_is_nearly_the_time_to_read_the_weights_of_eight_gpus():
    """349 GB at 0.75 × 8 × 1.555 TB/s. The paper's floor, 95 ms, has more in it."""
    assert orca.floor() == pytest.approx(2 * 174.6e9 / (0.75 * 8 * 1.555e12), rel=0.02)
    assert orca.floor() == pytest.approx(0.0378, abs=0.0003)


def test_a_static_batch_returns_its_requests_together():
    one, eight = (orca.latencies(system, 0.05, 0) / orca.floor() for system in (ONE, EIGHT))
    assert np.median(one) == pytest.approx(np.median(eight), rel=0.05)  # hardly anybody meets
    assert eight.max() > one.max()


def test_orca_has_as_many_slots_as_its_memory_reserves():
    assert orca.MOST_SLOTS == 75


@pytest.mark.parametrize("system", [ONE, EIGHT, ORCA, ORCA_32], ids=lambda s: s.name)
def test_the_sweep_holds_the_published_target(system):
    rates, medians = orca.sweep(system)
    assert medians[0] < orca.PUBLISHED_TARGET < medians[-1]
    assert (np.diff(rates) > 0).all()


def test_the_ratio_follows_the_target():
    """Against batch 8 it falls as the target is loosened: to a half at four floors."""
    strict, published, loose = (orca.ratio(EIGHT, target) for target in (1.5, 2.0, 4.0))
    assert strict > published > 2 * loose
    assert loose == pytest.approx(9.9, abs=0.5)


def test_a_target_outside_of_the_runs_is_refused():
    with pytest.raises(
        ValueError, match=r"a target of 0.5 floors is outside the range of the runs of Orca"
    ):
        orca.rate_at(ORCA, 0.5)
