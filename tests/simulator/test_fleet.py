"""A fleet: engines behind a router, under one virtual clock."""

import math
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


@settings(max_examples=60, deadline=None)
@given(fleets, st.sampled_from([None, (1, "prefill"), (1, "decode"), (2, "decode")]), st.booleans())
def test_many_steps_at_once_change_nothing(drawn, apart, has_blocks):
    """A replica that takes its steps one by one, with a report after each, gives the same run."""

    def run():
        fleet = build(**drawn | {"prefix_caching": False})
        if apart is not None and drawn["num_replicas"] > apart[0]:
            fleet.apart = mb.fleet.Apart(apart[0], 100_000, 1e9, 0.001, first_token_from=apart[1])
        fleet.pool["num_blocks"] = 12 if has_blocks else None
        return fleet.run(traffic)

    traffic = drawn_traffic(drawn["seed"])
    if drawn["policy"].max_batch_size == 2:
        apart = None  # only Continuous takes what was computed elsewhere
    many = run()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("minibatch.simulator.fleet.loop.Loop._alone_until", lambda *_: -math.inf)
        single = run()
    for name in (*TIMES, "replica", "reached", "failure"):
        np.testing.assert_array_equal(getattr(many, name), getattr(single, name), name)
    assert many.num_steps == single.num_steps


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


@pytest.mark.parametrize("policy", [mb.Continuous(3), Own(3)])
def test_a_decode_replica_computes_no_prompt(policy):
    traffic = mb.Traffic(np.zeros(1), np.array([1000]), np.array([5]))
    apart = mb.fleet.Apart(1, 1, 1e12)
    run = mb.Fleet(policy, COST, 2, apart=apart).run(traffic)
    assert run.first_token[0] == COST.prompt(1000)
    decodes = sum(COST.seconds(1, 0, 1001 + i, 0) for i in range(4))
    assert run.finish[0] == pytest.approx(run.first_token[0] + decodes + 1e-9)


@pytest.mark.parametrize("policy", [mb.Continuous(3), Own(3)])
def test_a_first_token_from_the_decode_replica_waits_for_the_transfer(policy):
    traffic = mb.Traffic(np.array([0.0, 9.0]), np.array([1000, 1000]), np.array([5, 1]))
    early, late = (
        mb.Fleet(policy, COST, 2, network_s=0.5, apart=mb.fleet.Apart(
            1, 1000, 1e6, latency_s=0.25, first_token_from=side
        )).run(traffic)
        for side in ("prefill", "decode")
    )  # fmt: skip
    np.testing.assert_allclose(late.first_token - early.first_token, [1.25, 0.0], atol=1e-12)
    np.testing.assert_array_equal(late.finish, early.finish)
    assert late.tpot[0] == pytest.approx(early.tpot[0] - 1.25 / 4)


def test_a_split_request_that_is_lost_on_its_way_has_no_token_from_the_decode_replica():
    traffic = mb.Traffic(np.zeros(1), np.array([1000]), np.array([5]))
    for side, has_token in (("prefill", True), ("decode", False)):
        apart = mb.fleet.Apart(1, 1000, 1e6, first_token_from=side)
        broken = mb.fleet.Failure(1, COST.prompt(1000) + 0.5)
        run = mb.Fleet(mb.Continuous(3), COST, 2, apart=apart, failures=[broken]).run(traffic)
        assert run.failure[0] == "replica 1 failed"
        assert np.isfinite(run.first_token[0]) == has_token


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

    with pytest.raises(ValueError, match=r"Lost.choose returned 7; return one of .*\[0, 1\]"):
        mb.Fleet(mb.Continuous(4), 0.1, 2, Lost()).run(drawn_traffic(1))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"num_replicas": 0}, "num_replicas is 0; it must be 1 or more"),
        ({"view_age_s": -1.0}, r"view_age_s is -1.0; it must be 0 or more seconds"),
        ({"slowdown": {5: 2.0}}, "this fleet has no replica 5; they are numbered 0 to 1"),
        ({"slowdown": {1: 0.0}}, r"slowdown\[1\] is 0.0; it must be above 0"),
        ({"failures": [mb.fleet.Failure(2, 1.0)]}, "this fleet has no replica 2"),
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


def test_a_session_finds_its_manual_and_its_own_answers():
    requests = mb.fleet.sessions(2.0, 40, num_manuals=1, manual_tokens=64, turns=3, seed=1)
    assert [r.arrival_time for r in requests] == sorted(r.arrival_time for r in requests)
    assert {tuple(r.prompt[:64]) for r in requests} == {tuple(requests[0].prompt[:64])}
    by_session = {}
    for request in requests:
        earlier = by_session.get(request.client, [])
        assert request.prompt[: len(earlier)] == earlier
        by_session[request.client] = [*request.prompt, *[0] * request.max_tokens]
    run = mb.Fleet(mb.Continuous(8), COST, 2, mb.routers.StickyUntilSaturated(),
                   num_blocks=400, prefix_caching=True).run(requests)  # fmt: skip
    one = mb.Fleet(mb.Continuous(8), COST, 2, mb.routers.RoundRobin(),
                   num_blocks=400, prefix_caching=True).run(requests)  # fmt: skip
    assert run.hit_rate > one.hit_rate > 0.3
    assert (run.cached <= run.prompt).all()
    rates = run.hit_rates(np.array([0.0, 1e9]))
    assert 0 < np.nanmin(rates) <= np.nanmax(rates) <= 1


def test_the_router_knows_of_a_cached_prefix_as_late_as_of_anything_else():
    """Two equal prompts, one after the other: the second finds the first's replica by its blocks,
    unless the report of them is still on its way."""
    prompt = list(range(1, 65))
    pair = [mb.Request(prompt, max_tokens=1, arrival_time=t, request_id=str(t)) for t in (0.0, 9.0)]
    for age, cached in ((0.0, 48), (8.9, 0)):
        router = mb.routers.PrefixAffinity(seed=3)
        run = mb.Fleet(mb.Continuous(8), 0.1, 5, router, num_blocks=40, prefix_caching=True,
                       view_age_s=age).run(pair)  # fmt: skip
        assert run.cached.tolist() == [0, cached]


def test_a_day_has_its_peak_at_noon():
    arrival = mb.fleet.day(10.0, seconds=1000, night=0.1, seed=1).arrival
    assert 450 < np.median(arrival) < 550
    counts, _ = np.histogram(arrival, [0, 100, 450, 550])
    assert counts[0] / 100 < 0.3 * counts[2] / 100


def test_distserve_gains_where_the_limit_on_tpot_is_tight():
    tight, loose = mb.fleet.distserve.table(pairs=mb.fleet.distserve.PAIRS[:2])
    assert tight.ratio > 1.2
    assert loose.ratio < tight.ratio


class Spy(mb.routers.Random):
    """Keeps what it saw."""

    seen: list = []  # noqa: RUF012 (copies of a router share it)

    def choose(self, request, views):
        self.seen.append([view[:5] for view in views])
        return super().choose(request, views)


@pytest.mark.parametrize("policy", [mb.Continuous(3), Own(3)])
@pytest.mark.parametrize("age", [0.0, 0.07])
def test_a_view_shows_each_replica_as_it_was_then(policy, age):
    traffic = drawn_traffic(5, 60)
    Spy.seen.clear()
    run = mb.Fleet(policy, COST, 3, Spy(), view_age_s=age, network_s=0.02).run(traffic)
    finish, first = run.finish - 0.02, run.first_token - 0.02  # as the replica knows them
    for views, now in zip(Spy.seen, traffic.arrival - age, strict=True):
        for number, running, waiting, _, tokens in views:
            here = (run.replica == number) & (run.reached <= now)
            assert running + waiting == (here & (finish > now + 1e-9)).sum()
            assert tokens == traffic.prompt[here & (first > now + 1e-9)].sum()


def test_only_a_request_without_a_token_is_tried_again():
    traffic = mb.Traffic(np.array([0.0, 0.0]), np.array([4, 4]), np.array([30, 3]))
    failures = [mb.fleet.Failure(0, 0.95)]
    run = mb.Fleet(mb.Sequential(), 0.1, 2, mb.routers.RoundRobin(), failures=failures).run(
        mb.Traffic(np.zeros(3), np.full(3, 4), np.array([30, 3, 3]))
    )
    assert run.failure.tolist() == ["replica 0 failed", "", ""]
    assert (run.retries.tolist(), run.replica.tolist()) == ([0, 0, 1], [0, 1, 1])
    assert run.finish[2] == pytest.approx(0.95 + 0.3)
    one = mb.Fleet(mb.Sequential(), 0.1, 1, failures=failures).run(traffic)
    assert one.failure.tolist() == ["replica 0 failed", "no replica"]
