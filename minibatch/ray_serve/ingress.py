"""The deployment that clients talk to: reads a request as the server does, and passes it on.

Its routes, checks and errors are the server's own (server/app.py); only what answers is another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ray import serve
from starlette.types import ASGIApp

from ..core.request import Request
from ..server.app import Api
from ..server.guards import LOOPBACK, Bodies, Guard
from ..server.metrics import merged
from ..server.protocol import Ask
from ..server.replies import Reply
from .call import Call, EngineFacts
from .relay import Relay

if TYPE_CHECKING:
    from ray.serve.handle import DeploymentHandle


class Replicas:
    """A Backend (server/backend.py) of the replicas behind a handle."""

    fault = None  # Ray replaces a replica that fails

    def __init__(self, handle: DeploymentHandle, facts: EngineFacts) -> None:
        self.handle, self.streams = handle, handle.options(stream=True)
        self.model = self.pool = facts

    async def metrics(self) -> bytes:
        """Of all replicas, each with its name as the label `replica`."""
        texts = await self.handle.broadcast("metrics").results_async(return_exceptions=True)
        return merged(dict(each for each in texts if not isinstance(each, Exception)))

    def exchange(self, ask: Ask, requests: list[Request], reply: Reply, begun: float) -> Relay:
        """The way of its answer."""
        return Relay(self.streams, Call(ask, requests, reply))


@serve.deployment(name="ingress")
@serve.ingress()
class Ingress:
    """replicas: what answers. name: the model's. local_only: whether only names of this computer
    are taken as Host. api_key: what clients must send; None asks for none. deadline: as in `serve`.
    """

    async def __init__(
        self,
        replicas: DeploymentHandle,
        name: str,
        local_only: bool,
        api_key: str | None,
        deadline: float | None,
    ) -> None:
        backend = Replicas(replicas, await replicas.facts.remote())
        app = Api(backend, Bodies(), name, deadline).app()
        self._app = Guard(app, LOOPBACK if local_only else None, api_key)

    def __serve_build_asgi_app__(self) -> ASGIApp:
        return self._app
