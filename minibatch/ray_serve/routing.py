"""Our router as one of Ray's: who gets the next request.

Ray asks `choose_replicas` for ranks of replicas, and takes one of the first rank that has room. A
router of ours names one replica (views.py); the same object routes in the simulated fleet.

Before changing this file:
- Ray pickles this module by value, into each process that has a handle. So it is small, and imports
  ours when it runs.
- Without `should_backoff` Ray asks again at once, without an end, while the chosen replica is full.
"""

from __future__ import annotations

from ray.serve.request_router import PendingRequest, ReplicaID, RequestRouter, RunningReplica


class OurRouter(RequestRouter):
    """Routes by a router of minibatch.routers, or one of yours."""

    def initialize_state(self, router: str, options: dict[str, object]) -> None:
        """router: a class as "module:Class"; options: its arguments."""
        from minibatch.ray_serve.views import Views, router_class

        self.views = Views(router_class(router)(**options))

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
            return [candidate_replicas]  # not a client's: Ray takes the least busy one
        by_name = {replica.replica_id.unique_id: replica for replica in candidate_replicas}
        reports = {name: by_name[name].routing_stats for name in sorted(by_name)}
        name = pending_request.metadata.internal_request_id
        return [[by_name[self.views.choose(name, call.requests[0], reports)]]]

    def on_request_completed(self, replica_id: ReplicaID, internal_request_id: str) -> None:
        """It has ended, in any way."""
        self.views.ended(internal_request_id)
