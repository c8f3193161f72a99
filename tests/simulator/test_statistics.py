"""What a number from few measurements is worth."""

from statistics import median

import numpy as np
import pytest

from minibatch.simulator.statistics import check_enough, median_interval, percentile


def test_a_percentile_has_its_share_of_the_values_below_it():
    values = np.random.default_rng(0).permutation(np.arange(1, 1001))
    assert [percentile(values, q) for q in (1, 50, 90, 99)] == [10, 500, 900, 990]


def test_a_percentile_of_too_few_is_refused_with_what_to_do():
    with pytest.raises(
        ValueError,
        match=r"p99 of 100 values has only 1 values beyond it; it needs 10. "
        r"Measure 1,000 requests, or take p90.",
    ):
        percentile(np.arange(100), 99)
    with pytest.raises(ValueError, match=r"p50 of 12 values .* Measure 20 requests\."):
        percentile(np.arange(12), 50)


@pytest.mark.parametrize(("n", "q"), [(1000, 99), (100, 90), (20, 50), (100, 10), (10_000, 99.9)])
def test_ten_values_beyond_are_enough_and_nine_are_not(n, q):
    check_enough(n, q)
    with pytest.raises(ValueError, match="beyond it"):
        check_enough(n - 1, q)


def test_its_advice_is_accepted():
    for n in range(20, 300):
        with pytest.raises(ValueError, match="or take p") as error:
            check_enough(n, 99)
        check_enough(n, float(str(error.value).rsplit("p", 1)[1][:-1]))


def test_missing_times_are_not_passed_over():
    values = np.arange(100.0)
    values[3] = np.nan
    with pytest.raises(ValueError, match=r"1 of 100 values are NaN.*np.inf"):
        percentile(values, 50)
    values[3] = np.inf  # a failure is later than everything
    assert percentile(values, 50) == 50
    assert percentile(np.append(np.arange(85.0), [np.inf] * 15), 90) == np.inf


@pytest.mark.parametrize("q", [0, 100, -1, 101])
def test_a_percentile_lies_within_0_and_100(q):
    with pytest.raises(ValueError, match="between 0 and 100"):
        percentile(np.arange(100), q)


def test_an_interval_over_twenty_seeds_is_the_sixth_and_the_fifteenth():
    """Conover, Practical Nonparametric Statistics: n = 20, 95.9 %."""
    found = median_interval(range(1, 21))
    assert (found.low, found.median, found.high) == (6, 10.5, 15)
    assert found.confidence == pytest.approx(0.9586, abs=1e-4)


def test_an_interval_holds_the_true_median_as_often_as_it_says():
    rng = np.random.default_rng(1)
    held = [
        found.low <= np.log(2) <= found.high
        for found in (median_interval(rng.exponential(size=20)) for _ in range(2000))
    ]
    assert np.mean(held) == pytest.approx(0.959, abs=0.015)


def test_five_seeds_have_no_interval():
    assert median_interval(range(6)).median == median(range(6))
    with pytest.raises(ValueError, match=r"5 runs are too few for 95% .* 94%. Run more seeds"):
        median_interval(range(5))
    assert str(median_interval(range(1, 21))) == "10.5 (6–15, 96% confidence, 20 seeds)"
