"""The figures of lesson 13: what their titles and alt texts say of the numbers."""

import numpy as np
import pytest

import minibatch as mb
from minibatch.plots.guesses import forget, keep
from minibatch.simulator.traffic import Lengths


@pytest.fixture(autouse=True)
def no_guesses():
    forget()


def title(figure, panel=0):
    return figure.axes[panel].get_title(loc="left")


def test_tails_of_queues_name_their_p99():
    keep("two", 9)
    figure = mb.plots.queue_tails({"one": range(1, 101), "two": range(2, 202, 2)}, guess="two")
    found = "Two: 1 request in 100 waits 2.0 × as long as with one; your guess: 9 s"
    assert title(figure) == found
    assert f"{found}. one: p99 99 s. two: p99 198 s." in figure.alt


def run_of(replicas, cached=0):
    """Requests of 10 s each, of 100 prompt tokens, on these replicas."""
    n = len(replicas)
    fleet = mb.Fleet(mb.Continuous(4), 0.1, max(replicas) + 1)
    run = fleet.run(mb.Traffic(np.zeros(n), np.full(n, 100), np.ones(n, int)))
    run.replica[:], run.reached[:], run.finish[:], run.cached[:] = replicas, 0.0, 10.0, cached
    return run


def lanes(figure):
    return [tick.get_text() for tick in figure.axes[0].get_yticklabels()]


def test_the_hot_replica_is_named():
    figure = mb.plots.replica_loads(run_of([0, 1, 1, 1, 1, 1], cached=40), name="Affinity")
    assert "Affinity: the busiest of 2 replicas has 1.7 × the mean" in figure.alt
    assert "replica 0: 1.0 requests, replica 1: 5.0 requests" in figure.alt
    assert lanes(figure) == ["replica 0", "replica 1, hot"]
    words = [text.get_text() for text in figure.axes[1].texts]
    assert words == ["1, 40 % cached", "5, 40 % cached"]


def test_equal_loads_have_no_hot_replica():
    assert lanes(mb.plots.replica_loads(run_of([0, 1]))) == ["replica 0", "replica 1"]


def test_a_full_lane_can_be_the_same_in_several_figures():
    alone, common = (mb.plots.replica_loads(run_of([0, 1]), full=full) for full in (None, 7))
    heights = [figure.axes[0].collections[0].get_datalim(figure.axes[0].transData).height
               for figure in (alone, common)]  # fmt: skip
    assert heights == pytest.approx([0.85, 0.85 / 7])
    assert title(common) == "requests, waiting and running: at most 1 at a replica"


def test_a_replica_without_requests_has_no_cached_share():
    figure = mb.plots.replica_loads(run_of([1, 1, 2], cached=40))
    assert figure.axes[1].texts[0].get_text() == "no requests"


def test_without_caches_a_bar_is_the_tokens_generated():
    figure = mb.plots.replica_loads(run_of([0, 1, 1]))
    assert [text.get_text() for text in figure.axes[1].texts] == ["1", "2"]


def test_the_worst_moment_is_in_the_title():
    run = run_of([0, 0, 0, 1])
    run.finish[0] = 4.0
    run.reached[2] = 5.0
    run.reached[3] = 3.0
    figure = mb.plots.replica_loads(run, name="Old", worst=True)
    assert "Old: at the worst moment, one replica has 2 of " in figure.alt


def test_an_old_view_is_worse_than_none_from_an_age_on():
    lines = {"Least": {0: [1, 1], 10: [2, 2], 100: [9, 8]}, "Two": {0: [1, 1], 100: [2, 2]}}
    figure = mb.plots.stale_views(lines, [3, 3])
    assert title(figure) == "Least is worse than Random from 100 ms on"
    assert "Two is not worse at any tested age" in figure.alt


def test_goodput_is_where_a_line_falls_below_the_goal():
    mixes = {"long": {"mixed": {1: 1.0, 2: 0.8}, "apart": {1: 1.0, 2: 0.95}},
             "short": {"mixed": {1: 1.0, 2: 0.85}, "apart": {1: 0.5, 2: 0.4}}}  # fmt: skip
    figure = mb.plots.apart_or_mixed(mixes)
    assert "long: ≥ 2 (apart), 1.5 (mixed) a second per replica" in figure.alt
    assert "short: 1.7 (mixed), 0 (apart) a second per replica" in figure.alt
    assert [title(figure, panel) for panel in (0, 1)] == ["long", "short"]
    marks = [[text.get_text() for text in axis.texts] for axis in figure.axes]
    assert marks == [["1.5", "≥ 2"], ["1.7", "0"]]


def test_a_day_has_its_money_and_its_waits():
    traffic = mb.fleet.day(3.0, seconds=100, lengths=Lengths.equal(10, 5), seed=1)
    runs = {str(n): mb.Fleet(mb.Continuous(4), 0.1, n).run(traffic) for n in (3, 1)}
    figure = mb.plots.autoscaled_day(runs, price_per_hour=3600.0, limit_s=1.0)
    assert title(figure) == "Cost, as a share of “3”: 33 % (1)"
    assert "p99 TTFT of the day: " in figure.alt


def test_what_a_kill_did_is_in_the_title():
    told = {"replica": "a", "end": "whole", "sent_s": 0.0, "last_s": 1.0}
    late = {**told, "replica": "b", "sent_s": 7.0, "last_s": 8.0}
    cut = {**told, "end": "the replica has ended", "sent_s": 2.0, "last_s": 3.0}
    recorded = {"requests": [told, cut, late], "kill": {"at_s": 2.5, "replica": "a"}}
    figure = mb.plots.recorded_replicas(recorded)
    assert title(figure) == "A replica is killed: an error ends 1 of 3 answers"
    assert "The kill: at 2 s. A new replica answers from 7 s on" in figure.alt
    assert "replica 0: 2 requests" in figure.alt
