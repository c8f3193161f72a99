"""What our router is told on Ray, and that it then chooses as it does in a simulated fleet.

Most of this runs without Ray: views are plain data.
"""

import asyncio
from types import SimpleNamespace

import pytest

import minibatch as mb
from minibatch import routers
from minibatch.ray_serve.report import report
from minibatch.ray_serve.views import Views, router_class
from minibatch.routers import Incoming, ReplicaView

PROMPT = [0] * 50  # three full blocks and the beginning of a fourth
ALL = [name for name in routers.__all__ if name not in ("Incoming", "ReplicaView", "Router")]


def engine(**options):
    return mb.Engine(mb.PretendModel(), mb.Continuous(2), num_blocks=64, block_size=16, **options)


def reports():
    """Of three replicas: idle, busy, and one that has the prompt in its cache."""
    idle, busy, warm = engine(), engine(), engine(prefix_caching=True)
    for _ in range(4):
        busy.add(mb.Request(PROMPT, max_tokens=40))
    busy.step()
    warm.run([mb.Request(PROMPT, max_tokens=2)])
    return {"a": report(idle), "b": report(busy), "c": report(warm)}


def test_a_report_says_what_an_engine_holds():
    found = reports()
    assert found["a"]["num_running"] == found["a"]["num_waiting"] == found["a"]["kv_use"] == 0
    assert (found["b"]["num_running"], found["b"]["num_waiting"]) == (2, 2)
    assert found["b"]["num_uncached_tokens"] == 2 * len(PROMPT)
    assert found["b"]["kv_use"] == 2 * 4 / 64
    view = Views(routers.RoundRobin()).view("c", found["c"])
    assert view.cached_tokens(Incoming.of(mb.Request(PROMPT))) == 48


@pytest.mark.parametrize("name", ALL)
def test_choices_are_those_of_the_router_for_the_same_views(name):
    """A router gets nothing but the views, so the fleet's choices are Ray's."""
    found, kind = reports(), getattr(routers, name)
    on_ray, alone = Views(kind(), now=lambda: 0.0), kind()
    for i in range(30):
        request = mb.Request(PROMPT[: 1 + i], client=f"user {i % 5}")
        views = [on_ray.view(replica, each) for replica, each in found.items()]
        expected = alone.choose(Incoming.of(request), views)
        assert on_ray.choose(f"request {i}", request, found) == "abc"[expected]


def test_a_request_is_counted_as_sent_until_a_report_includes_it_or_it_ends():
    now = iter(range(10, 20))
    views = Views(routers.RoundRobin(), now=lambda: next(now))
    request = mb.Request(PROMPT)
    for name in ("x", "y"):  # at 10 and 11
        assert views.choose(name, request, {"a": {"time": 9.0}}) == "a"

    def sent(made):
        view = views.view("a", {"time": made})
        return view.num_sent, view.num_sent_tokens

    assert (sent(9.5), sent(10.5), sent(11.5)) == ((2, 100), (1, 50), (0, 0))
    views.ended("x")
    assert sent(9.5) == (1, 50)


def test_a_new_replica_gets_a_new_number():
    views = Views(routers.RoundRobin())
    numbers = [views.view(name, {}).replica for name in ("a", "b", "a", "c")]
    assert numbers == [0, 1, 0, 2]
    assert views.view("a", {}) == ReplicaView(0)


@pytest.mark.ray
def test_ray_gets_one_rank_with_the_chosen_replica():
    pytest.importorskip("ray")
    from minibatch.ray_serve.routing import OurRouter

    router = OurRouter.__new__(OurRouter)  # Ray's own constructor needs a cluster
    router.initialize_state(router="LeastUncachedTokens", options={"count_sent": True})
    replicas = [
        SimpleNamespace(replica_id=SimpleNamespace(unique_id=name), routing_stats=stats)
        for name, stats in reports().items()
    ]

    def pending(call, name="1"):
        return SimpleNamespace(
            args=[call],
            metadata=SimpleNamespace(internal_request_id=name),
            routing_context=SimpleNamespace(should_backoff=False),
        )

    def choose(request):
        return asyncio.run(router.choose_replicas(replicas, request))

    asked = pending(SimpleNamespace(requests=[mb.Request(PROMPT)]))
    assert choose(asked) == [[replicas[2]]]
    assert asked.routing_context.should_backoff
    router.on_request_completed(replicas[2].replica_id, "1")
    assert choose(pending("not a call")) == [replicas]
    assert choose(None) == []


@pytest.mark.ray
@pytest.mark.parametrize(
    "name", ["Router", "Nobody", "json:loads", "minibatch.core.request:Request"]
)
def test_what_is_no_router_is_named(name):
    with pytest.raises(ValueError, match="choose ConsistentHash, Least"):
        router_class(name)
