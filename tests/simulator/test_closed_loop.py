"""Users who wait for their answers: the next request of each follows from the answer before it."""

import random

import numpy as np
import pytest

import minibatch as mb
from minibatch.simulator.traffic import Lengths

SHORT = Lengths("short", (0.0, 1.0), (1, 30), (1, 40), "made up")


class Own(mb.Continuous):
    """The same rules in another class, so the engine runs."""


def test_one_user_sends_when_the_answer_is_there():
    found = mb.closed_loop(
        mb.Continuous(4), 0.1, num_users=1, num_requests=5, lengths=Lengths.equal(3, 4)
    )
    assert found.arrival[1:].tolist() == found.finish[:-1].tolist()
    np.testing.assert_allclose(found.e2e, 0.4)
    assert (found.num_steps, len(found)) == (20, 5)


def test_both_paths_are_the_same_users(seed_of_run):
    rng = random.Random(seed_of_run)
    for _ in range(20):
        size = rng.randint(1, 6)
        how = {
            "num_users": rng.randint(1, 10),
            "num_requests": rng.randint(1, 40),
            "think_s": rng.choice((0.0, 0.3, 5.0)),
            "lengths": SHORT,
            "seed": rng.randint(0, 999),
            "num_blocks": rng.choice((None, 12)),
            "block_size": 8,
        }
        fast = mb.closed_loop(mb.Continuous(size), 0.1, **how)
        engine = mb.closed_loop(Own(size), 0.1, **how)
        assert (fast.path, engine.path) == ("fast", "engine")
        for name in ("arrival", "first_scheduled", "first_token", "finish", "preemptions"):
            assert getattr(fast, name).tolist() == getattr(engine, name).tolist(), (name, how)
        assert fast.num_steps == engine.num_steps


@pytest.mark.parametrize("policy", [mb.Sequential(), mb.Static(4), mb.Continuous(4)])
def test_no_user_has_two_requests_and_no_request_is_lost(policy):
    found = mb.closed_loop(policy, 0.1, num_users=6, num_requests=60, think_s=1.0, lengths=SHORT)
    assert not np.isnan(found.finish).any()
    assert (np.diff(found.arrival) >= 0).all()
    inside = [((found.arrival <= t) & (t < found.finish)).sum() for t in found.arrival]
    assert max(inside) == 6


def test_littles_law_holds():
    found = mb.closed_loop(
        mb.Continuous(8), 0.05, num_users=20, num_requests=4_000, think_s=3.0, lengths=SHORT
    )
    throughput = len(found) / found.makespan_s
    assert throughput * (found.e2e.mean() + 3.0) == pytest.approx(20, rel=0.03)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_users": 0}, "num_users is 0; it must be 1 or more"),
        ({"num_requests": 0}, "num_requests is 0; it must be 1 or more"),
        ({"think_s": -1.0}, "think_s is -1.0; give seconds, 0 or more"),
        ({"num_blocks": 1}, r"needs 40 \+ 9 tokens = 3 blocks of 16"),
    ],
)
def test_what_cannot_be_served_is_refused(changes, message):
    how = {"num_users": 2, "num_requests": 3, "lengths": Lengths.equal(40, 9), **changes}
    with pytest.raises(ValueError, match=message):
        mb.closed_loop(mb.Continuous(2), 0.1, **how)
