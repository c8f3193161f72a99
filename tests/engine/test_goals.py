"""Goodput and fairness, on runs small enough to be added up by hand."""

import pytest
from test_metrics import completion, step, summary

from minibatch.engine.goals import fairness, goodput, tokens_by_client


def test_goodput_counts_who_was_served_in_time():
    done = [
        completion([1.0, 1.5, 2.0]),  # in time
        completion([3.0, 3.5]),  # the first token late
        completion([1.0, 2.0]),  # the second late
        completion([1.0], arrival=0.5),  # in time
        completion([], reason="refused", finish_time=4.0),
    ]
    good = goodput(done, ttft_s=1.0, itl_s=0.5)
    assert (good.num_good, good.num_requests, good.per_s) == (2, 5, 0.5)
    assert good.share == pytest.approx(0.4)


def test_a_run_of_nobody_has_no_goodput():
    assert goodput([], 1.0, 1.0).share == goodput([], 1.0, 1.0).per_s == 0


def of(client, token_times):
    done = completion(token_times)
    object.__setattr__(done, "client", client)
    return done


def test_fairness_is_jain_s_index_of_what_clients_have_got_by_then():
    done = [of("x", [1.0, 2.0, 3.0, 4.0]), of("y", [3.0, 4.0]), of("x", [4.0, 5.0])]
    assert tokens_by_client(done) == {"x": 6, "y": 2}
    assert fairness(done) == pytest.approx(64 / (2 * 40))
    assert fairness(done, until=2.0) == pytest.approx(0.5)  # one of two has everything
    assert fairness([]) == 1.0


def test_inter_token_times_are_those_of_all_answers_together():
    done = [completion([1.0, 2.0, 4.0]), completion([1.0, 1.5]), completion([9.0])]
    got = summary([step(0, [1])], done)
    assert got["itl_mean_s"] == pytest.approx(3.5 / 3)
    assert (got["itl_p50_s"], got["itl_max_s"]) == (1.0, 2.0)


def test_a_completion_noted_twice_leaves_its_gaps_once():
    from minibatch.engine.metrics import Latencies

    latencies = Latencies()
    for number in (0, 1, 1, 2):
        latencies.put(number, completion([1.0, 2.0]))
    assert list(latencies.columns()["itl"]) == [1.0, 1.0, 1.0]
