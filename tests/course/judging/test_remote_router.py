"""A learner's router in a worker sees the views of the judge's fleet."""

import pytest

from minibatch.course.judging.remote_router import RemoteRouter
from minibatch.course.judging.worker_errors import Raised
from minibatch.routers import Incoming, ReplicaView

SEEN = """
def choose(request, views):
    return [(request.num_tokens, request.session), [
        (v.replica, v.num_requests, v.num_sent_tokens, v.uncached_tokens(request)) for v in views
    ]]
"""


def seen(request, views):
    return [
        (request.num_tokens, request.session),
        [(v.replica, v.num_requests, v.num_sent_tokens, v.uncached_tokens(request)) for v in views],
    ]


def test_a_view_is_the_newest_though_only_changes_are_sent(worker):
    router = RemoteRouter(worker(SEEN), "choose")
    request = Incoming(50, (b"a", b"b", b"c"), "ada")
    old, new = frozenset([b"a"]), frozenset([b"a", b"b"])
    for views in (
        [ReplicaView(3, num_running=2, cached=old), ReplicaView(1, num_sent_tokens=7)],
        [ReplicaView(1, num_waiting=4), ReplicaView(3, cached=old)],
        [ReplicaView(3, num_sent=1, cached=new)],
        [ReplicaView(3, cached=old), ReplicaView(1, cached=new)],
    ):
        assert router.choose(request, views) == seen(request, views)


def test_the_list_of_views_is_the_caller_s(worker):
    router = RemoteRouter(worker("def choose(request, views):\n    views.pop()"))
    with pytest.raises(Raised, match="changes_the_callers_list"):
        router.choose(Incoming(1), [ReplicaView(0)])


def test_a_new_worker_is_sent_every_cache(worker):
    student = worker(SEEN)
    request, views = Incoming(50, (b"a",)), [ReplicaView(0, cached=frozenset([b"a"]))]
    for _ in range(2):
        assert RemoteRouter(student).choose(request, views) == seen(request, views)
        student.close()
