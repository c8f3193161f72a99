"""Routers: which replica gets the next request."""

import copy
import math
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minibatch as mb
from minibatch.routers import Incoming, ReplicaView

ROUTERS = [getattr(mb.routers, name) for name in mb.routers.__all__ if name not in
           ("Incoming", "ReplicaView", "Router")]  # fmt: skip
HASHES = [bytes([i]) for i in range(4)]

requests = st.builds(
    Incoming,
    st.integers(65, 200),
    st.sampled_from([(), tuple(HASHES[:2]), tuple(HASHES)]),
    st.sampled_from([None, "Ana", "Ben"]),
)
view_lists = st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True).flatmap(
    lambda numbers: st.tuples(
        *[
            st.builds(
                ReplicaView, st.just(number), st.integers(0, 9), st.integers(0, 99), st.just(9),
                st.integers(0, 5000), st.floats(0, 1), st.integers(0, 9), st.integers(0, 500),
                st.frozensets(st.sampled_from(HASHES)),
            )
            for number in numbers
        ]
    ).map(list)
)  # fmt: skip


@pytest.mark.parametrize("kind", ROUTERS)
@settings(max_examples=20, deadline=None)
@given(calls=st.lists(st.tuples(requests, view_lists), min_size=1, max_size=8))
def test_a_choice_follows_from_requests_and_views_alone(kind, calls):
    one, other = kind(), kind()
    first = [one.choose(request, list(views)) for request, views in calls]
    random.seed(0)
    seen = copy.deepcopy(calls)
    assert [other.choose(request, views) for request, views in seen] == first
    assert seen == calls
    for chosen, (_, views) in zip(first, calls, strict=True):
        assert chosen in [view.replica for view in views]


def views(**columns):
    """A view for each value; replicas are numbered from 0."""
    rows = zip(*columns.values(), strict=True)
    return [ReplicaView(i, **dict(zip(columns, row, strict=True))) for i, row in enumerate(rows)]


def test_in_turn_also_when_a_replica_leaves():
    router, all_three = mb.routers.RoundRobin(), views(num_running=[9, 0, 0])
    some = Incoming(10)
    assert [router.choose(some, all_three) for _ in range(4)] == [0, 1, 2, 0]
    assert [router.choose(some, all_three[::2]) for _ in range(3)] == [2, 0, 2]


AT_1 = {"cached": [(), HASHES]}  # replica 1 has all but the last token of the prompt
BLIND = mb.routers.PrefixAffinity(queue=0, kv=0, most_apart=math.inf)


@pytest.mark.parametrize(
    ("router", "columns", "chosen"),
    [
        (mb.routers.LeastRequests(), {"num_running": [3, 1], "num_waiting": [0, 4]}, 0),
        (mb.routers.LeastRequests(), {"num_running": [1, 2], "num_sent": [9, 0]}, 0),
        (mb.routers.LeastRequests(True), {"num_running": [1, 2], "num_sent": [9, 0]}, 1),
        (mb.routers.PowerOfTwo(), {"num_running": [5, 2]}, 1),
        (mb.routers.LeastUncachedTokens(), {"num_uncached_tokens": [90, 50]}, 1),
        (mb.routers.LeastUncachedTokens(), {"num_uncached_tokens": [50, 90], **AT_1}, 1),
        (mb.routers.PrefixAffinity(), {"num_waiting": [0, 3], **AT_1}, 1),
        (mb.routers.PrefixAffinity(), {"num_waiting": [0, 3], "kv_use": [0.1, 0.9], **AT_1}, 0),
        (mb.routers.PrefixAffinity(), {"num_waiting": [0, 65], **AT_1}, 0),
        (BLIND, {"num_waiting": [0, 999], "kv_use": [0, 1], **AT_1}, 1),
        (mb.routers.StickyUntilSaturated(), {"num_uncached_tokens": [9, 500], **AT_1}, 1),
        (mb.routers.StickyUntilSaturated(), {"num_waiting": [0, 6], **AT_1}, 0),
        (mb.routers.StickyUntilSaturated(), {"kv_use": [0.1, 0.9], **AT_1}, 0),
        (mb.routers.StickyUntilSaturated(), {"kv_use": [0.9, 0.9], **AT_1}, 1),
    ],
)
def test_what_each_router_looks_at(router, columns, chosen):
    assert router.choose(Incoming(65, tuple(HASHES)), views(**columns)) == chosen


def test_a_session_sticks_until_its_replica_is_full():
    router, ana = mb.routers.StickyUntilSaturated(), Incoming(100, (), "Ana")
    assert router.choose(ana, views(num_uncached_tokens=[0, 50])) == 0
    assert router.choose(ana, views(num_uncached_tokens=[5000, 0])) == 0
    assert router.choose(ana, views(num_waiting=[6, 0])) == 1
    assert router.choose(ana, views(num_uncached_tokens=[0, 5000])) == 1


def test_a_replica_that_leaves_moves_only_its_own_sessions():
    router, four = mb.routers.ConsistentHash(), views(num_running=[0] * 4)
    people = [Incoming(10, (), f"session {i}") for i in range(400)]
    before = [router.choose(person, four) for person in people]
    after = [router.choose(person, four[:3]) for person in people]
    assert all(old == new for old, new in zip(before, after, strict=True) if old != 3)
    assert min(Counter(before).values()) > 40


def test_ties_are_spread():
    counts = Counter(
        mb.routers.LeastRequests(seed=i).choose(Incoming(1), views(num_running=[2, 2, 2, 5]))
        for i in range(300)
    )
    assert set(counts) == {0, 1, 2}
    assert min(counts.values()) > 60


def test_a_router_sees_the_blocks_that_the_cache_finds():
    """The last token is always computed, so its block is left out, as in memory/prefix.py."""
    ids = [5, 6, 7, 8, 9, 1, 2, 3]
    request = mb.Request(ids, max_tokens=1, client="Ana")
    engine = mb.Engine(mb.PretendModel(), mb.Sequential(), num_blocks=9, block_size=4,
                       prefix_caching=True, clock=mb.VirtualClock(1.0))  # fmt: skip
    engine.model.vocab_size = 10
    engine.run([request])
    prefixes = engine.pool.prefixes
    cached = {prefixes.link_of(block).hash for block in prefixes}
    seen = Incoming.of(request, 4)
    assert (seen.num_tokens, len(seen.prefix_hashes), seen.session) == (8, 1, "Ana")
    view = ReplicaView(0, cached=cached, block_size=4)
    assert (view.cached_tokens(seen), view.uncached_tokens(seen)) == (4, 4)
    assert Incoming.of(mb.Request([*ids, 1], cache_salt="x"), 4).prefix_hashes[0] not in cached


def test_routers_import_no_arrays():
    code = "import minibatch.routers, sys; assert not {'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
