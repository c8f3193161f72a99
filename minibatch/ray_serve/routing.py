"""Our router as one of Ray's: who gets the next request.

Ray asks `choose_replicas` for ranks of replicas, and takes the first that has room. A router of ours
names one replica, by its place among the views (views.py); it is the same object that routes in a
simulated fleet.

Before changing this file:
- Ray pickles this module by value, into each process that has a handle. Keep it small.
- Without `should_backoff` Ray asks again at once, for ever, while the chosen replica is full.
"""

from __future__ import annotations

import importlib

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica


class FleetRouter(RequestRouter):
    """Routes by the router that `initialize_state` names."""

    def initialize_state(self, router: str, options: dict[str, object] | None = None) -> None:
        """router: "module:Class"; options: its arguments."""
        views = importlib.import_module("minibatch.ray_serve.views")
        module, _, name = router.partition(":")
        self.fleet = views.Fleet(getattr(importlib.import_module(module), name)(**options or {}))

    async def choose_replicas(
        self,
        candidate_replicas: list[RunningReplica],
        pending_request: PendingRequest | None = None,
    ) -> list[list[RunningReplica]]:
        """One rank with one replica; no rank if there is none."""
        if pending_request is None or not candidate_replicas:
            return []
        pending_request.routing_context.should_backoff = True
        call = pending_request.args[0] if pending_request.args else None
        if not hasattr(call, "requests"):
            return [candidate_replicas]  # not a request of a client: Ray takes the least busy
        replicas = sorted(candidate_replicas, key=lambda replica: str(replica.replica_id))
        stats = {str(replica.replica_id): replica.routing_stats for replica in replicas}
        chosen = self.fleet.choose(pending_request.metadata.internal_request_id, call, stats)
        return [[replicas[chosen]]]

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        """It has ended, in any way."""
        self.fleet.ended(internal_request_id)
