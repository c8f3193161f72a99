"""A fleet: engines behind a router, under one virtual clock."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minibatch as mb
from minibatch.simulator.cost import CostModel
from minibatch.simulator.traffic import Lengths

COST = CostModel(0.005, 0.0002, 0.00018, 4e-10, 6144, "made up", 1e-7)
TIMES = ("arrival", "first_scheduled", "first_token", "finish", "preemptions")
ROUTERS = [getattr(mb.routers, name) for name in mb.routers.__all__ if name not in
           ("Incoming", "ReplicaView", "Router")]  # fmt: skip


class Own(mb.Continuous):
    """Not a class that the fast simulator knows."""


def drawn_traffic(seed, n=30):
    draw = random.Random(seed)
    arrival = np.cumsum([draw.choice((0.0, 0.01, 0.1)) for _ in range(n)])
    prompt, output = ([draw.randint(1, 40) for _ in range(n)] for _ in range(2))
    return mb.Traffic(arrival, np.array(prompt), np.array(output))


POLICIES = mb.Continuous(4, 20), mb.Static(3), mb.Dynamic(3, 0.05), mb.Budget(4), Own(4)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_a_fleet_of_one_without_latency_equals_simulate_bit_for_bit(policy, seed):
    traffic = drawn_traffic(seed)
    one = mb.simulate(policy, traffic, COST, num_blocks=12)
    fleet = mb.Fleet(policy, COST, 1, num_blocks=12).run(traffic)
    for name in TIMES:
        np.testing.assert_array_equal(getattr(one, name), getattr(fleet, name), name)
    assert (fleet.num_steps, fleet.path) == (one.num_steps, one.path)


fleets = st.builds(
    dict,
    policy=st.sampled_from([mb.Continuous(3), Own(3), mb.Static(2)]),
    router=st.sampled_from(ROUTERS),
    num_replicas=st.integers(1, 4),
    seconds=st.tuples(*[st.sampled_from([0.0, 0.003, 0.2])] * 4),
    max_ongoing=st.sampled_from([None, 1, 5]),
    failures=st.lists(
        st.tuples(st.integers(0, 3), st.floats(0, 3), st.sampled_from([0.0, 0.4, float("inf")])),
        max_size=4,
    ),
    prefix_caching=st.booleans(),
    seed=st.integers(0, 1000),
)


def build(policy, router, num_replicas, seconds, max_ongoing, failures, prefix_caching, seed):
    age, every, network, decision = seconds
    failures = [mb.fleet.Failure(r, *times) for r, *times in failures if r < num_replicas]
    return mb.Fleet(
        policy, COST, num_replicas, router(), num_blocks=12, view_age_s=age, report_every_s=every,
        network_s=network, router_s=decision, max_ongoing=max_ongoing, failures=failures,
        slowdown={0: 2.0}, prefix_caching=prefix_caching,
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(fleets)
def test_every_request_finishes_on_one_replica_or_fails_by_name(drawn):
    traffic = drawn_traffic(drawn["seed"])
    requests = traffic.requests(vocab_size=3, seed=drawn["seed"])
    run = build(**drawn).run(requests)
    served = run.failure == ""
    assert (~np.isnan(run.finish) == served).all()
    assert (run.replica[served] >= 0).all()
    assert run.served_by().sum() == served.sum()
    named = {f"replica {i} failed" for i in range(drawn["num_replicas"])} | {"no replica"}
    assert set(run.failure[~served]) <= named
    assert drawn["failures"] or served.all()
    assert run.num_held_blocks == 0
    assert (run.finish[served] >= run.first_token[served]).all()
    assert (run.first_token[served] > run.arrival[served]).all()
    again = build(**drawn).run(requests)
    np.testing.assert_array_equal(again.finish, run.finish)
    assert again.failure.tolist() == run.failure.tolist()


def test_both_paths_are_the_same_fleet():
    traffic = drawn_traffic(7, 60)
    args = {"num_blocks": 12, "view_age_s": 0.05, "network_s": 0.01, "slowdown": {1: 3.0}}
    fast, slow = (
        mb.Fleet(policy, COST, 3, mb.routers.LeastUncachedTokens(), **args).run(traffic)
        for policy in (mb.Continuous(3), Own(3))
    )
    assert (fast.path, slow.path) == ("fast", "engine")
    for name in (*TIMES, "replica", "reached"):
        np.testing.assert_array_equal(getattr(fast, name), getattr(slow, name), name)


def test_the_fast_path_makes_no_engine(monkeypatch):
    monkeypatch.delattr("minibatch.simulator.fleet.fleet.EngineBackend")
    assert mb.Fleet(mb.Continuous(3), COST).run(drawn_traffic(1)).path == "fast"


@pytest.mark.parametrize("policy", [mb.Continuous(3), mb.Continuous(3, 10), Own(3)])
@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    from_tokens=st.sampled_from([0, 15]),
    blocks=st.sampled_from([6, 30]),
)
def test_apart_every_answer_is_whole_and_every_block_comes_back(policy, seed, from_tokens, blocks):
    traffic = drawn_traffic(seed)
    apart = mb.fleet.Apart(1, 100_000, 1e9, latency_s=0.001, from_tokens=from_tokens)
    run = mb.Fleet(policy, COST, 3, num_blocks=blocks, apart=apart).run(traffic)
    assert (run.failure == "").all()
    assert run.num_held_blocks == 0
    split = (traffic.output > 1) & (traffic.prompt >= from_tokens)
    assert ((run.prefill_replica == 0) == split).all()
    assert (run.replica > 0).all()
    moved = traffic.prompt[split] * 1e-4 + 0.001
    assert (run.reached[split] >= run.first_token[split] + moved - 1e-9).all()
    other = Own(policy.max_batch_size, policy.max_batch_tokens)
    one = mb.Fleet(other, COST, 3, num_blocks=blocks, apart=apart).run(traffic)
    for name in (*TIMES, "replica", "reached"):
        np.testing.assert_array_equal(getattr(one, name), getattr(run, name), name)


def test_a_decode_replica_computes_no_prompt():
    traffic = mb.Traffic(np.zeros(1), np.array([1000]), np.array([5]))
    apart = mb.fleet.Apart(1, 1, 1e12)
    run = mb.Fleet(mb.Continuous(3), COST, 2, apart=apart).run(traffic)
    assert run.first_token[0] == COST.prompt(1000)
    decodes = sum(COST.seconds(1, 0, 1001 + i, 0) for i in range(4))
    assert run.finish[0] == pytest.approx(run.first_token[0] + decodes + 1e-9)


def test_one_queue_waits_less_than_two():
    traffic = mb.traffic.poisson(1.6, 2000, Lengths.equal(1, 10), seed=1)
    own = mb.Fleet(mb.Sequential(), 0.1, 2, mb.routers.Random()).run(traffic)
    common = mb.Fleet(mb.Sequential(), 0.1, 2, max_ongoing=1).run(traffic)
    assert common.ttft.mean() < 0.7 * own.ttft.mean()
    assert common.router_queue[:, 1].max() > 1


def test_the_network_is_crossed_twice():
    traffic = mb.traffic.poisson(1.0, 5, Lengths.equal(10, 3))
    near = mb.Fleet(mb.Continuous(4), 0.1, 1).run(traffic)
    far = mb.Fleet(mb.Continuous(4), 0.1, 1, network_s=0.25, router_s=0.05).run(traffic)
    np.testing.assert_allclose(far.ttft - near.ttft, 0.55)
    np.testing.assert_allclose(far.reached - far.arrival, 0.3)


def test_a_router_that_names_no_replica_is_refused_with_what_it_said():
    class Lost(mb.routers.Router):
        def choose(self, request, views):
            return 7

    with pytest.raises(ValueError, match=r"Lost.choose returned 7; the views are of .*\[0, 1\]"):
        mb.Fleet(mb.Continuous(4), 0.1, 2, Lost()).run(drawn_traffic(1))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"num_replicas": 0}, "num_replicas is 0; it must be 1 or more"),
        ({"view_age_s": -1.0}, r"view_age_s is -1.0; it must be 0 or more seconds"),
        ({"slowdown": {5: 2.0}}, "replica 5 is none of this fleet's: they are numbered 0 to 1"),
        ({"slowdown": {1: 0.0}}, r"slowdown\[1\] is 0.0; it must be above 0"),
        ({"failures": [mb.fleet.Failure(2, 1.0)]}, "replica 2 is none of this fleet's"),
        ({"max_ongoing": 0}, "max_ongoing is 0"),
        ({"start_s": -1.0}, "start_s is -1.0"),
        (
            {"apart": mb.fleet.Apart(2, 1, 1e9)},
            "num_prefill is 2 of 2 replicas; leave at least one",
        ),
    ],
)
def test_a_fleet_that_cannot_be_is_refused_with_the_numbers(args, message):
    with pytest.raises(ValueError, match=message):
        mb.Fleet(mb.Continuous(4), 0.1, **args)
