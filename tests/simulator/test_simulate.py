"""`mb.simulate` answers with columns what the engine on a pretend model does."""

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator.traffic import Lengths

TRAFFIC = mb.Traffic([0.0, 0.0, 0.4], [3, 5, 2], [2, 4, 1])


def test_columns_are_what_the_engine_says():
    found = mb.simulate(mb.Continuous(2), TRAFFIC, 0.1)
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2), clock=mb.VirtualClock(0.1))
    done = engine.run(TRAFFIC.requests())
    assert found.first_scheduled.tolist() == [c.first_scheduled_time for c in done]
    assert found.first_token.tolist() == [c.first_token_time for c in done]
    assert found.finish.tolist() == [c.finish_time for c in done]
    assert (found.num_steps, len(found)) == (engine.trace.num_steps, 3)
    np.testing.assert_allclose(found.ttft, [c.ttft for c in done])
    np.testing.assert_allclose(found.tpot[:2], [c.tpot for c in done][:2])
    assert np.isnan(found.tpot[2])  # one token has no gap
    np.testing.assert_allclose(found.e2e, [0.2, 0.4, 0.1])
    assert found.makespan_s == pytest.approx(0.5)


def test_preemptions_are_counted():
    traffic = mb.traffic.all_at_once(4, Lengths.equal(4, 12))
    found = mb.simulate(mb.Continuous(4), traffic, 0.1, num_blocks=10, block_size=4)
    assert found.preemptions.sum() > 0
    assert not np.isnan(found.finish).any()


def test_a_policy_may_be_simulated_twice():
    policy = mb.Budget(2, max_batch_tokens=8)
    first, second = (mb.simulate(policy, TRAFFIC, 0.1) for _ in range(2))
    assert first.finish.tolist() == second.finish.tolist()
    assert policy.pool is None


def test_requests_need_no_vocabulary():
    requests = [mb.Request([7, 8, 9], max_tokens=2, stop_token_ids=[0], arrival_time=1.0)]
    assert mb.simulate(mb.Static(2), requests, 0.1).finish.tolist() == [1.2]


def test_a_request_that_ends_early_has_no_finish():
    requests = [mb.Request([0], max_tokens=9), mb.Request([0], max_tokens=9, deadline=0.2)]
    found = mb.simulate(mb.Sequential(), requests, 0.1)
    assert np.isnan(found.finish).tolist() == [False, True]
    assert np.isnan(found.first_scheduled).tolist() == [False, True]


def test_progress_counts_the_requests_that_ended():
    calls = []
    mb.simulate(mb.Continuous(2), TRAFFIC, 0.1, progress=lambda *numbers: calls.append(numbers))
    assert calls[-1] == (3, 3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_blocks": 1, "block_size": 4}, r"needs 5 \+ 4 tokens = 2 blocks of 4"),
        ({"num_blocks": 0}, "num_blocks is 0; it must be 1 or more"),
        ({"block_size": 0}, "block_size is 0; it must be 1 or more"),
        ({"step_time": 0}, "step_time is 0; give seconds above 0"),
        ({"step_time": lambda plan: -1.0}, r"step_time\(plan\) is -1.0"),
    ],
)
def test_what_cannot_be_simulated_gets_the_engines_message(changes, message):
    with pytest.raises(ValueError, match=message):
        mb.simulate(mb.Continuous(2), TRAFFIC, **{"step_time": 0.1, **changes})


def test_no_traffic_takes_no_step():
    found = mb.simulate(mb.Continuous(2), mb.Traffic([], [], []), 0.1)
    assert (len(found), found.num_steps) == (0, 0)
    assert np.isnan(found.makespan_s)
