"""The application: how many replicas, what each of them needs, and the ingress before them.

`serve run minibatch.ray_serve.deploy:build` starts it on any Ray cluster; serve.yaml has its
arguments. `python -m minibatch serve --replicas N` starts it on this computer.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from ray import serve
from ray.serve.config import RequestRouterConfig
from ray.serve.deployment import Application

from .ingress import Ingress
from .replica import Replica
from .settings import EngineSettings

MOST_ONGOING = 1024  # requests of one replica; its engine refuses before (QueueLimits)
STATS_SECONDS = 1.0  # how often a replica reports to the routers
GRACE = 30.0  # seconds that a replica gets to end its requests


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """replicas: how many. most_replicas: above it, Ray adds replicas while each has more than
    target_requests on average, and takes them away; None is `replicas`, always. router, options:
    a class as "module:Class", and its arguments. num_cpus, num_gpus: of each replica.
    local_only, api_key, deadline: as in `serve`."""

    engine: EngineSettings
    replicas: int = 2
    most_replicas: int | None = None
    target_requests: float = 8.0
    router: str = "minibatch.ray_serve.views:LeastRequests"
    router_options: dict[str, object] | None = None
    num_cpus: float = 1.0
    num_gpus: float = 0.0
    local_only: bool = True
    api_key: str | None = None
    deadline: float | None = None

    def application(self) -> Application:
        """What `serve.run` takes."""
        count: dict[str, object] = {"num_replicas": self.replicas}
        if self.most_replicas is not None:
            autoscaling = {
                "min_replicas": self.replicas,
                "max_replicas": self.most_replicas,
                "target_ongoing_requests": self.target_requests,
            }
            count = {"autoscaling_config": autoscaling}
        replicas = serve.deployment(
            Replica,
            name="engine",
            max_ongoing_requests=MOST_ONGOING,
            graceful_shutdown_timeout_s=GRACE,
            ray_actor_options={"num_cpus": self.num_cpus, "num_gpus": self.num_gpus},
            request_router_config=RequestRouterConfig(
                request_router_class="minibatch.ray_serve.routing:FleetRouter",
                request_router_kwargs={"router": self.router, "options": self.router_options},
                request_routing_stats_period_s=STATS_SECONDS,
            ),
            **count,
        )
        ingress = Ingress.options(
            max_ongoing_requests=MOST_ONGOING * 4,
            graceful_shutdown_timeout_s=GRACE,
            ray_actor_options={"num_cpus": 0},
        )
        return ingress.bind(
            replicas.bind(self.engine),
            self.engine.name,
            self.local_only,
            self.api_key,
            self.deadline,
        )


def build(arguments: dict[str, object]) -> Application:
    """For `serve run` and YAML: the fields of EngineSettings and Deployment in one table."""
    ours = {field.name for field in fields(EngineSettings)}
    engine = EngineSettings(**{key: value for key, value in arguments.items() if key in ours})
    rest = {key: value for key, value in arguments.items() if key not in ours}
    return Deployment(engine=engine, **rest).application()
