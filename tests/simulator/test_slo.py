"""Which requests met their SLO: late, failed and uncounted ones."""

from dataclasses import replace

import numpy as np
import pytest

import minibatch as mb
from minibatch.core.completion import Completion
from minibatch.simulator.slo import attainment, goodput, tokens_in_time

NAN = float("nan")


def simulated(ttft, tpot, output=11, gap=1.0):
    """Requests a second apart with these latencies; NaN: never served."""
    ttft, tpot = np.array(ttft, float), np.array(tpot, float)
    n = len(ttft)
    arrival, output = gap * np.arange(n), np.broadcast_to(output, n).astype(np.int64)
    first = arrival + ttft
    return mb.Simulated(
        arrival=arrival,
        prompt=np.full(n, 9),
        output=output,
        first_scheduled=arrival,
        first_token=first,
        finish=np.where(output > 1, first + tpot * (output - 1), first),
        preemptions=np.zeros(n, np.int64),
        num_steps=1,
        path="engine",
        why="written by hand",
    )


def completion(*token_times, arrival=0.0, reason="length"):
    first, last = (token_times[0], token_times[-1]) if token_times else (None, arrival + 1)
    ids = list(range(len(token_times)))
    return Completion(
        "r", [1], ids, "", reason, arrival, arrival, first, last, list(token_times), None
    )


def test_a_request_is_in_time_if_it_keeps_every_limit():
    run = simulated([0.5, 1.5, 0.5, 1.0], [0.01, 0.01, 0.09, 0.04])
    assert mb.SLO(ttft=1, tpot=0.05).met(run).tolist() == [True, False, False, True]
    assert mb.SLO(ttft=1).met(run).tolist() == [True, False, True, True]
    assert mb.SLO(tpot=0.05).met(run).tolist() == [True, True, False, True]


def test_an_answer_of_one_token_has_no_gaps_to_be_late_in():
    run = simulated([0.5, NAN], [NAN, NAN], output=1)
    assert mb.SLO(ttft=1, tpot=0.05).met(run).tolist() == [True, False]
    slo = mb.SLO(ttft=1, tpot=0.05, itl=0.05)
    assert slo.met([completion(0.5)]).tolist() == [True]


def test_one_long_gap_breaks_the_itl_and_not_the_tpot():
    stalled = completion(0.1, 0.12, 0.14, 0.5, 0.52)
    assert mb.SLO(tpot=0.11).met([stalled]).all()
    assert not mb.SLO(itl=0.11).met([stalled]).any()


@pytest.mark.parametrize("reason", ["refused", "abort", "deadline"])
def test_a_request_that_failed_is_missed_and_stays_in_the_denominator(reason):
    run = [completion(0.1, 0.2), completion(1.1, 1.2, arrival=1, reason=reason)]
    found = attainment(run, mb.SLO(ttft=1), cut=0)
    assert (found.num_met, found.num_requests, found.num_failed) == (1, 2, 1)
    assert found.share == 0.5


def test_an_unfinished_request_of_a_simulation_is_missed_too():
    found = attainment(simulated([0.1, 0.1, NAN], [0.01, NAN, NAN]), mb.SLO(ttft=1), cut=0)
    assert (found.num_met, found.num_failed) == (1, 2)


def test_warm_up_and_drain_are_cut_off_and_said():
    """20 requests, one a second; only the first two and the last two are late."""
    late = [9.0, 9.0, *[0.1] * 16, 9.0, 9.0]
    run = simulated(late, [0.01] * 20)
    found = attainment(run, mb.SLO(ttft=1), cut=0.1)
    assert (found.num_met, found.num_requests, found.num_cut) == (16, 16, 2)
    assert found.duration_s == 16.0  # from the third arrival to the nineteenth
    assert found.goodput == goodput(run, mb.SLO(ttft=1)) == 1.0
    assert str(found) == (
        "1 requests/s in time: 16 of 16 met TTFT ≤ 1 s; 0 failed (a failed request counts as "
        "missed); the first 2 and the last 2 arrivals ran but are not counted (the server fills "
        "and empties)"
    )
    whole = attainment(run, mb.SLO(ttft=1), cut=0)
    assert (whole.num_met, whole.duration_s) == (16, pytest.approx(28.1))
    assert "warm-up" not in str(whole)


def test_columns_and_completions_of_the_same_run_agree():
    requests = [mb.Request([0] * 30, max_tokens=n, arrival_time=n / 9) for n in range(1, 21)]
    slo = mb.SLO(ttft=0.6, tpot=0.21)
    columns = mb.simulate(mb.Continuous(4), requests, 0.1)
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(4), clock=mb.VirtualClock(0.1))
    found = attainment(engine.run(requests), slo), attainment(columns, slo)
    assert found[0] == found[1]
    assert 0 < found[0].num_met < found[0].num_requests


def test_completions_in_another_order_give_the_same():
    run = [completion(i + 0.1, i + 0.1 + i / 9, arrival=i) for i in range(20)]
    slo = mb.SLO(tpot=1.0)
    assert attainment(run[::-1], slo) == attainment(run, slo)
    assert slo.met(run[::-1]).tolist() == slo.met(run).tolist()


def test_a_token_is_due_by_its_place_in_the_answer():
    """Due at 1.0, 1.1, 1.2, 1.3: a fast start pays for a pause, and a late start is caught up."""
    assert tokens_in_time([completion(0.2, 0.3, 1.2, 1.3)], 1, 0.1).tolist() == [1.0]
    assert tokens_in_time([completion(1.05, 1.06, 1.07, 1.4)], 1, 0.1).tolist() == [0.5]
    refused = completion(reason="refused", arrival=3)
    assert tokens_in_time([refused, completion(0.5)], 1, 0.1).tolist() == [1.0, 0.0]


def test_columns_have_no_times_of_single_tokens():
    run = simulated([0.1], [0.01])
    with pytest.raises(ValueError, match=r"an ITL needs the time of each token.*run an engine"):
        mb.SLO(itl=0.1).met(run)
    with pytest.raises(ValueError, match=r"a deadline for each token needs"):
        tokens_in_time(run, 1, 0.1)


def test_an_slo_has_a_limit_that_can_be_met():
    with pytest.raises(ValueError, match="give ttft, tpot or itl"):
        mb.SLO()
    with pytest.raises(ValueError, match=r"TTFT ≤ 0 s has a limit that no request can meet"):
        mb.SLO(ttft=0)


@pytest.mark.parametrize("cut", [-0.1, 0.5, 1])
def test_a_cut_leaves_something(cut):
    with pytest.raises(ValueError, match="share of the run to leave out at each end"):
        attainment(simulated([0.1] * 4, [0.01] * 4), mb.SLO(ttft=1), cut)


def test_requests_that_arrive_at_once_have_a_rate_only_until_the_end():
    run = replace(simulated([0.5] * 20, [0.1] * 20), arrival=np.zeros(20))
    with pytest.raises(ValueError, match=r"the 16 counted requests all arrived at 0 s"):
        attainment(run, mb.SLO(ttft=30))
    assert attainment(run, mb.SLO(ttft=30), cut=0).duration_s > 0
    with pytest.raises(ValueError, match="no requests to count"):
        attainment([], mb.SLO(ttft=1))
