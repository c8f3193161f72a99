"""The highest rate that meets an SLO."""

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator.traffic import Lengths

SLOW = mb.SLO(ttft=0.5)
EQUAL = Lengths.equal(10, 10)


def even(rate, seed):
    """All requests alike, at equal gaps; nothing is random."""
    return mb.traffic.gamma(rate, 125, 0, EQUAL, seed)


def random(rate, seed):
    return mb.traffic.poisson(rate, 125, EQUAL, seed)


def test_one_server_without_randomness_is_full_at_its_service_rate():
    """Ten steps of 0.1 s a request: above 1 a second, the queue grows without end."""
    found = mb.capacity(mb.Sequential(), even, SLOW, 0.1, tolerance=0.001)
    assert 1.0 <= found.rate < 1.01
    assert found.interval.low == found.interval.high == found.rate


@pytest.mark.parametrize("start", [0.01, 0.7, 300])
def test_the_first_guess_does_not_matter(start):
    found = mb.capacity(mb.Sequential(), even, SLOW, 0.1, tolerance=0.01, start=start)
    assert found.rate == pytest.approx(1.0, rel=0.02)


def test_random_arrivals_cost_capacity_and_its_interval_says_how_well_it_is_known():
    found = mb.capacity(mb.Sequential(), random, mb.SLO(ttft=2.0), 0.1)
    assert found.rate < 0.95
    low, high = found.interval.low, found.interval.high
    assert min(found.per_seed) < low < found.rate < high < max(found.per_seed)
    assert len(found.per_seed) == found.interval.num_runs == 20
    assert found.interval.confidence >= 0.95


def test_each_seed_meets_the_slo_at_its_capacity_and_not_a_step_above():
    found = mb.capacity(mb.Continuous(4), random, mb.SLO(ttft=1.0), 0.1, tolerance=0.02)
    for seed, rate in enumerate(found.per_seed):
        own = [point for point in found.points if point.seed == seed]
        assert [p.share >= 0.9 for p in own if p.rate == rate] == [True]
        above = min(p.rate for p in own if p.share < 0.9)
        assert rate < above <= rate * 1.02


def test_the_points_are_there_for_a_figure():
    found = mb.capacity(mb.Continuous(4), random, mb.SLO(ttft=1.0), 0.1)
    rates, shares = found.curve()
    assert len(rates) == len(shares) == len(found.points)
    assert (np.diff(rates) >= 0).all()
    assert shares[rates < found.interval.low / 2].min(initial=1.0) >= 0.9


def test_continuous_carries_more_than_static_and_static_more_than_sequential():
    def rate(policy):
        lengths = Lengths("mixed", (0.0, 1.0), (5, 20), (1, 20), "made up")
        return mb.capacity(
            policy, lambda r, s: mb.traffic.poisson(r, 125, lengths, s), mb.SLO(ttft=2.0), 0.1
        ).rate

    assert rate(mb.Continuous(4)) > rate(mb.Static(4)) > rate(mb.Sequential())


def test_it_says_its_conditions():
    text = str(mb.capacity(mb.Sequential(), even, SLOW, 0.1))
    assert "96% confidence, 20 seeds" in text
    assert text.endswith(
        "requests/s with 90% of requests at TTFT ≤ 0.5 s; 125 requests a run, 10% not counted at "
        "each end"
    )


def test_too_few_seeds_or_requests_are_refused():
    with pytest.raises(ValueError, match=r"5 seeds are too few.*Give at least 20"):
        mb.capacity(mb.Sequential(), even, SLOW, 0.1, seeds=5)
    with pytest.raises(ValueError, match=r"p99 of 101 values has only 1.01 values beyond it"):
        mb.capacity(mb.Sequential(), even, SLOW, 0.1, goal=0.99)
    with pytest.raises(ValueError, match="goal is 90"):
        mb.capacity(mb.Sequential(), even, SLOW, 0.1, goal=90)


def test_an_slo_that_decides_nothing_is_refused():
    with pytest.raises(ValueError, match=r"TTFT ≤ 0.01 s is missed even at .* loosen it"):
        mb.capacity(mb.Sequential(), even, mb.SLO(ttft=0.01), 0.1)
    with pytest.raises(ValueError, match=r"TTFT ≤ 1e\+09 s is met at every rate .* tighten it"):
        mb.capacity(mb.Sequential(), even, mb.SLO(ttft=1e9), 0.1)
