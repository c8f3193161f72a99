"""Ray on this computer: started and ended, or what failed, in Ray's own words.

Before changing this file:
- Every address is a loopback address. Ray replaces 127.0.0.1 by the address of a network card, so
  that other computers can join. On Linux it keeps 127.0.0.2, which is this computer too. A token
  keeps the other users of this computer out.
- Ray has limits in seconds that a busy computer does not keep, and starts processes that are not
  needed here: `_sparing` changes both. It uses private names of Ray 2.60, which the lock pins.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import ray
import ray._private.parameter
import ray._private.services
from ray import serve
from ray._raylet import (
    DASHBOARD_AGENT_LISTEN_PORT_NAME,
    METRICS_AGENT_PORT_NAME,
    METRICS_EXPORT_PORT_NAME,
    persist_port,
)

SECONDS = 90.0  # to start in
MEMORY = 2**28  # bytes of Ray's object store; a token needs a few hundred
ADDRESS = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
UNUSED = METRICS_AGENT_PORT_NAME, METRICS_EXPORT_PORT_NAME, DASHBOARD_AGENT_LISTEN_PORT_NAME
MOST_WORDS = 12  # lines of a log


class RayFailed(RuntimeError):
    """Ray, or what runs on it, did not start; the message has Ray's words."""


@contextmanager
def cluster(num_cpus: int, host: str, port: int, seconds: float = SECONDS) -> Iterator[None]:
    """Ray, and Serve's HTTP proxy at host and port, while the context lasts; all its processes end
    with it. num_cpus: how many Ray may give to replicas, whatever this computer has. Raises
    RayFailed if it does not start in time."""
    os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(16))  # else it is kept in ~/.ray
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # it would report to ray.io
    folder = (
        None if os.name == "nt" else Path(tempfile.mkdtemp(prefix="minibatch-ray-", dir="/tmp"))
    )
    before = set(psutil.Process().children())
    try:
        with _sparing(seconds, folder):
            ray.init(
                num_cpus=num_cpus,
                include_dashboard=False,
                object_store_memory=MEMORY,
                log_to_driver=False,
                logging_level="error",
                _node_ip_address=ADDRESS,
                _temp_dir=None if folder is None else str(folder),
            )
        serve.start(proxy_location="HeadOnly", http_options={"host": host, "port": port})
    except BaseException as error:
        ray.shutdown()
        _end(set(psutil.Process().children()) - before)  # which ray.shutdown does not know yet
        if not isinstance(error, Exception):
            raise
        raise RayFailed(_words(error, folder)) from error
    try:
        yield
    finally:
        serve.shutdown()
        ray.shutdown()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _sparing(seconds: float, folder: Path | None) -> Iterator[None]:
    """`ray.init` starts a dashboard server even without a dashboard, a log monitor and an
    autoscaler's monitor: none is needed here, and each takes seconds. And two of its limits are
    constants. It gives its node 30 s: so what asks whether the node is there waits here for longer.
    The node ends itself if it does not find its agents' ports within 15 s: so it is told one of
    them, and finds -1, not in use, for the others."""
    services, parameter = ray._private.services, ray._private.parameter
    ask, params, dashboard = services.get_node, parameter.RayParams, services.start_api_server
    end = time.monotonic() + seconds

    def wait(address: str, node: str) -> object:
        if folder is not None:
            for name in UNUSED:
                persist_port(str((folder / "session_latest").resolve()), node, name, -1)
        while True:
            try:
                return ask(address, node)
            except RuntimeError:  # it is not there yet
                if time.monotonic() > end:
                    raise
            time.sleep(0.2)

    port = free_port(ADDRESS)
    services.get_node = wait
    services.start_api_server = lambda *_, **__: ("", None)
    parameter.RayParams = partial(
        params, runtime_env_agent_port=port, include_log_monitor=False, no_monitor=True
    )
    try:
        yield
    finally:
        services.get_node, services.start_api_server = ask, dashboard
        parameter.RayParams = params


def free_port(host: str) -> int:
    """A port that is free now."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]


def _end(started: set[psutil.Process]) -> None:
    """End these processes and those that they have started."""
    for process in started:
        with suppress(psutil.NoSuchProcess):
            for each in [*process.children(recursive=True), process]:
                each.kill()
    psutil.wait_procs(list(started), timeout=5)


def _words(error: Exception, folder: Path | None) -> str:
    """What Ray has raised, and the lines of its logs that say why."""
    lines = [f"Ray did not start: {type(error).__name__}: {error}"]
    for log in sorted(folder.glob("session_latest/logs/*.[oe]*")) if folder is not None else []:
        with suppress(OSError):
            text = log.read_text(encoding="utf-8", errors="replace")
            found = [line for line in text.splitlines() if re.search(r"\d [CE] \d|Error:", line)]
            lines += [f"{log.name}: {line[:400]}" for line in found[-MOST_WORDS:]]
    return "\n".join(lines) + ("" if folder is None else f"\nThe full logs are in {folder}.")
