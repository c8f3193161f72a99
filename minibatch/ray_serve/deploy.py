"""The application: how many replicas, what each of them needs, and the ingress before them.

`serve run minibatch.ray_serve.deploy:build` starts it on any Ray cluster; serve.yaml has its
arguments. `python -m minibatch serve --replicas N` starts it on this computer.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields

from ray import serve
from ray.serve.config import RequestRouterConfig
from ray.serve.deployment import Application

from .ingress import Ingress
from .replica import Replica
from .settings import EngineSettings
from .views import can_count_sent, router_class

MOST_ONGOING = 1024  # requests of one replica; its engine refuses before (QueueLimits)
STATS_SECONDS = 1.0  # how often a replica reports to the routers
GRACE = 30.0  # seconds that a replica gets to end its requests
PAUSE = 0.5  # seconds from one look whether it has to the next


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """replicas: how many; with most_replicas the fewest, and Ray adds some while each has more than
    target_requests on average. router: a name in minibatch.routers, or "module:Class" of yours or
    of Ray. router_options: its arguments. num_cpus, num_gpus: of each replica; None is its share of
    the GPUs that PyTorch sees here, at most one. local_only: whether only this computer can ask.
    api_key, deadline: as in `serve`.

    Raises ValueError for an unknown router, or if others could ask without a key.
    """

    engine: EngineSettings
    replicas: int = 2
    most_replicas: int | None = None
    target_requests: float = 8.0
    router: str = "LeastRequests"
    router_options: dict[str, object] = field(default_factory=dict)
    num_cpus: float = 1.0
    num_gpus: float | None = None
    local_only: bool = True
    api_key: str | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        if not self.local_only and not self.api_key:
            raise ValueError("other computers can reach these replicas; give an api_key")
        if not self._has_rays_router:
            router_class(self.router)

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
            graceful_shutdown_wait_loop_s=PAUSE,
            ray_actor_options={"num_cpus": self.num_cpus, "num_gpus": self._num_gpus()},
            request_router_config=self._router_config(),
            **count,
        )
        ingress = Ingress.options(
            max_ongoing_requests=MOST_ONGOING * 4,
            graceful_shutdown_timeout_s=GRACE,
            graceful_shutdown_wait_loop_s=PAUSE,
            ray_actor_options={"num_cpus": 0},
        )
        return ingress.bind(
            replicas.bind(self.engine),
            self.engine.name,
            self.local_only,
            self.api_key,
            self.deadline,
        )

    @property
    def _has_rays_router(self) -> bool:
        return self.router.startswith("ray.")

    def _router_config(self) -> RequestRouterConfig:
        kind, options = self.router, self.router_options
        if not self._has_rays_router:
            ours = {"count_sent": True} if can_count_sent(router_class(kind)) else {}
            options = {"router": kind, "options": ours | options}
            kind = "minibatch.ray_serve.routing:OurRouter"
        return RequestRouterConfig(
            request_router_class=kind,
            request_router_kwargs=options,
            request_routing_stats_period_s=STATS_SECONDS,
        )

    def _num_gpus(self) -> float:
        if self.num_gpus is not None:
            return self.num_gpus
        import torch

        return min(1.0, torch.cuda.device_count() / (self.most_replicas or self.replicas))


def build(arguments: dict[str, object]) -> Application:
    """For `serve run` and YAML: the fields of EngineSettings and Deployment in one table."""
    ours = {field.name for field in fields(EngineSettings)}
    engine = EngineSettings(**{key: value for key, value in arguments.items() if key in ours})
    rest = {key: value for key, value in arguments.items() if key not in ours}
    return Deployment(engine=engine, **rest).application()
