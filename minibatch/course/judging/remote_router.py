"""A learner's router in a worker, for a fleet that the judge simulates."""

from __future__ import annotations

from collections.abc import Sequence

from minibatch.course.judging.student import Student
from minibatch.course.judging.values import pack
from minibatch.routers import Incoming, ReplicaView


class RemoteRouter:
    """The learner's function `name`, by the worker's request `what`. Its answers are unchecked: it
    may return anything.

    Before changing this file: the worker keeps what it was sent of each replica's cache. So use the
    newest RemoteRouter of a student only.
    """

    def __init__(self, student: Student, name: str = "choose", what: str = "route") -> None:
        self._student, self._name, self._what = student, name, what
        self._sent: dict[int, object] = {}  # the newest `cached` of each replica

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> object:
        """What the learner's function returns for a request and views like these."""
        changed = [v for v in views if self._sent.get(v.replica) is not v.cached]
        self._sent |= {v.replica: v.cached for v in changed}
        reply = self._student.ask(
            self._what,
            name=self._name,
            request=pack(list(request)),
            views=[pack([*v._replace(cached=None)]) for v in views],
            cached=[[v.replica, pack(sorted(v.cached))] for v in changed],
        )
        return self._student.unpacked(reply)
