"""`RayServer`: replicas behind one address on this computer, as `mb.Server` is one engine.

with RayServer(Deployment(engine=EngineSettings(), replicas=2)) as server:
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
"""

from __future__ import annotations

import os
import signal
import time
import urllib.error
import urllib.request
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from ray import serve

from ..server.server import LOCAL, check_arguments
from .cluster import SECONDS, RayFailed, cluster, free_port
from .deploy import Deployment

NAME = "minibatch"  # of the application
UPDATE_SECONDS = 300.0
PAUSE = 0.2  # seconds between two looks


class RayServer:
    """deployment: what is served; its `local_only` follows from host. host, port: as in
    `mb.Server`. num_cpus: that Ray counts with; None is as many as the replicas ask for. seconds:
    to start in.

    Raises ValueError for a wrong host; `start` raises RayFailed.
    """

    def __init__(
        self,
        deployment: Deployment,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        num_cpus: int | None = None,
        seconds: float = SECONDS,
    ) -> None:
        check_arguments(host, port, deployment.api_key, deadline=None)
        self.deployment = replace(deployment, local_only=host in LOCAL)
        self.host, self.port, self.seconds = host, port or free_port(host), seconds
        most = deployment.most_replicas or deployment.replicas
        self.num_cpus = num_cpus or max(2, round(most * deployment.num_cpus))
        self._stack = ExitStack()

    @property
    def url(self) -> str:
        """Its address, such as "http://127.0.0.1:8000"."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self) -> RayServer:
        """Start Ray and the replicas, and wait until a request is answered."""
        end = time.monotonic() + self.seconds
        with ExitStack() as stack:
            stack.enter_context(cluster(self.num_cpus, self.host, self.port, self.seconds))
            self.update(self.deployment, end - time.monotonic())
            self._stack = stack.pop_all()
        return self

    def stop(self) -> None:
        """End it all. A second call does nothing."""
        self._stack.close()

    def update(self, deployment: Deployment, seconds: float = UPDATE_SECONDS) -> None:
        """Serve this from now on. Ray ends the old replicas one after the other, each when it has
        answered its requests; new ones take their place. Raises RayFailed after so many seconds."""
        target = serve.RunTarget(deployment.application(), name=NAME, route_prefix="/")
        serve.run_many([target], wait_for_applications_running=False)
        end = time.monotonic() + seconds
        while (status := serve.status().applications[NAME]).status != "RUNNING":
            if status.status == "DEPLOY_FAILED" or time.monotonic() > end:
                raise RayFailed(_words(status))
            time.sleep(PAUSE)
        while not self._answers():
            if time.monotonic() > end:
                raise RayFailed(f"the replicas run, but {self.url}/health does not answer")
            time.sleep(PAUSE)

    def replicas(self) -> dict[str, int]:
        """The name and process id of each replica that runs."""
        return self._ask("process")

    def states(self) -> dict[str, dict[str, int]]:
        """What each replica's engine holds, by name: see `Replica.state`."""
        return self._ask("state")

    def kill(self, name: str) -> None:
        """End a replica at once, as a fault of its computer would. Ray starts another one."""
        os.kill(self.replicas()[name], getattr(signal, "SIGKILL", signal.SIGTERM))

    def __enter__(self) -> RayServer:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _ask(self, method: str) -> dict[str, Any]:
        """What this method of each replica returns, by name; without one that dies meanwhile."""
        asked = serve.get_deployment_handle("engine", NAME).broadcast(method)
        results = asked.results(timeout_s=self.seconds, return_exceptions=True)
        return dict(each for each in results if not isinstance(each, Exception))

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/health", timeout=5) as response:
                return response.status == 200
        except (urllib.error.URLError, OSError):
            return False


def _words(status: serve.schema.ApplicationStatusOverview) -> str:
    """Why an application does not run: Ray's messages about it and its deployments."""
    lines = [f"Ray did not start the replicas: {status.status}. {status.message}"]
    for name, deployment in status.deployments.items():
        if deployment.message:
            lines.append(f"{name}: {deployment.status}. {deployment.message}")
    return "\n".join(lines)
