"""The fewest requests. nginx's `least_conn`, Envoy's least request with all hosts compared."""

from __future__ import annotations

from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class LeastRequests(Router):
    """The replica with the fewest requests, waiting and running. A long prompt counts as one.

    count_sent: add the requests that this router has sent since the report. Without it, all
    requests go to the same replica until its next report comes.
    """

    def __init__(self, count_sent: bool = False, seed: int = 0) -> None:
        super().__init__(seed)
        self.count_sent = count_sent

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        if self.count_sent:
            return self.least(views, lambda view: view.num_requests + view.num_sent).replica
        return self.least(views, lambda view: view.num_running + view.num_waiting).replica
