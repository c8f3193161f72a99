"""A learner's router in the worker: a function of an `Incoming` request and the `ReplicaView`s."""

from __future__ import annotations

from collections.abc import Callable

from minibatch.course.judging.values import Lent, pack, unpack


class RouterWorker:
    """Keeps the cached blocks of each replica from call to call, so that only changes are sent."""

    def __init__(self) -> None:
        self._cached: dict[int, frozenset[bytes]] = {}

    def route(self, function: Callable, request: list, views: list, cached: list) -> object:
        """The number that `function` chooses. request: packed fields of `Incoming`; views: of each
        `ReplicaView`, without `cached`; cached: [replica, its blocks], where they have changed."""
        from minibatch.routers import Incoming, ReplicaView  # here: parts may be withheld

        for replica, blocks in cached:
            self._cached[replica] = frozenset(unpack(blocks))
        seen = [
            ReplicaView(*unpack(one))._replace(cached=self._cached[unpack(one)[0]]) for one in views
        ]
        return pack(function(Incoming(*unpack(request)), Lent(seen)))
