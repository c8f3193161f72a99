"""`Server`: an engine behind HTTP, in threads of its own.

    with mb.Server(engine) as server:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")

While it runs, the engine is the server's; do not step it. Two threads: the event loop, here, and
the engine's (engine_thread.py).
"""

from __future__ import annotations

import asyncio
import atexit
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import PurePath
from time import perf_counter
from typing import TypeVar

import uvicorn

from ..core.clock import WallClock
from ..engine.engine import Engine
from .answers import Written
from .app import Api
from .backend import OneEngine
from .connection import BACKLOG, Connection
from .engine_thread import EngineThread
from .guards import LOOPBACK, Bodies, Guard
from .metrics import Metrics

Result = TypeVar("Result")

LOCAL = ("127.0.0.1", "localhost", "::1")  # hosts that only this computer can reach
SEND_BUFFER = 2**17  # bytes for a slow reader in the kernel, which would take megabytes
DEAD_AFTER = 60_000  # milliseconds without an answer from a client's machine
LATEST = 2.0  # seconds after its grace a request that has not ended is cut off
KEEP_ALIVE_SECONDS = 5  # an idle connection is closed after these


class Server:
    """An OpenAI-compatible server. `port` and `url` are where it listens, once it has started.

    engine: serves until `stop`; after that you may use it directly. host: any other than this
    computer's own needs an api_key. port: 0 is any free one. name: the model's; None is its
    folder's.
    deadline: seconds after which a request that was not admitted ends. grace: seconds that running
    requests get to end in `stop`.
    Raises ValueError for a wrong argument, OSError if the port is taken.
    """

    def __init__(
        self,
        engine: Engine,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        api_key: str | None = None,
        name: str | None = None,
        deadline: float | None = None,
        grace: float = 5.0,
        log_level: str = "warning",
    ) -> None:
        if not isinstance(engine.clock, WallClock) or type(engine.clock).now is not WallClock.now:
            raise ValueError(
                f"this engine has a {type(engine.clock).__name__}; a server needs real time: "
                "make the engine without clock="
            )
        if engine.has_work:
            raise ValueError("this engine still has requests; run them to their end, or reset it")
        check_arguments(host, port, api_key, deadline)
        self.engine, self.host, self.grace = engine, host, grace
        self.name = name or model_name(engine)
        self.metrics = Metrics(engine, self.name)
        self.engine_thread = EngineThread(engine, self.metrics)
        self.bodies = Bodies()
        app = Api(OneEngine(self.engine_thread), self.bodies, self.name, deadline).app()
        guarded = Guard(app, LOOPBACK if host in LOCAL else None, api_key)
        config = uvicorn.Config(
            guarded,
            http=Connection,
            backlog=BACKLOG,
            ws="none",
            lifespan="off",
            log_config=None,
            log_level=log_level,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=grace + LATEST,
        )
        self._uvicorn = GracefulServer(config, grace, self.engine_thread.end_all)
        self._thread = threading.Thread(target=self._run, name="minibatch-server", daemon=True)
        self.port = port  # of its socket, once it has one
        self._socket: socket.socket | None = None

    @property
    def url(self) -> str:
        """Its address, such as "http://127.0.0.1:8000"."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"

    def start(self, listener: socket.socket | None = None) -> Server:
        """Take requests from now on. listener: a socket of `listen`; None makes one. Raises OSError
        if the port is taken."""
        if self._socket is not None:
            raise RuntimeError("this server was started before; make a new one")
        self._socket = listener or listen(self.host, self.port)
        self.port = self._socket.getsockname()[1]
        self._thread.start()
        atexit.register(self.stop)
        return self

    def stop(self) -> None:
        """Take no new requests, let running ones end within `grace` seconds, and end the threads.
        A second call does nothing."""
        atexit.unregister(self.stop)
        self._uvicorn.should_exit = True
        if self._thread.is_alive():
            self._thread.join()

    @property
    def written(self) -> list[Written]:
        """When the newest answers were written to their sockets, oldest first, in seconds on the
        engine's clock."""
        shift = self.engine.clock.now() - perf_counter()
        return [
            Written(name, received + shift, [time + shift for time in times])
            for name, received, times in list(self.engine_thread.written)
        ]

    @property
    def is_running(self) -> bool:
        """Whether it takes requests."""
        return self._thread.is_alive()

    def between_steps(self, function: Callable[[], Result]) -> Result:
        """Call this in the engine's thread, between two steps, and return its result: to look at
        the engine while it serves. Raises RuntimeError if the server does not run."""
        if not self.engine_thread.is_alive:
            raise RuntimeError("this server is not running; use the server's engine directly")
        return self.engine_thread.submit(function).result()

    def __enter__(self) -> Server:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "runs" if self._thread.is_alive() else "is stopped"
        return f"<Server of {self.name!r} at {self.url}, which {state}>"

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.engine_thread.start(asyncio.get_running_loop())
        try:
            await self._uvicorn.serve(sockets=[self._socket])
        finally:
            await self.engine_thread.stop()


class GracefulServer(uvicorn.Server):
    """uvicorn's, which asks the engine to end what still runs when its grace is over."""

    def __init__(self, config: uvicorn.Config, grace: float, end_all: Callable[[], None]) -> None:
        super().__init__(config)
        self.grace, self.end_all = grace, end_all

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """No new requests; running ones end by themselves, or with an error."""
        timer = asyncio.get_running_loop().call_later(self.grace, self.end_all)
        await super().shutdown(sockets)
        timer.cancel()


def check_arguments(host: str, port: int, api_key: str | None, deadline: float | None) -> None:
    """Raises ValueError if other computers could use the server without a key, or if no client
    could be served."""
    if host not in LOCAL and not api_key:
        raise ValueError(
            f"host is {host!r}, which other computers can reach; give an api_key, or leave host out"
        )
    if api_key == "":
        raise ValueError("api_key is empty; give a key, or leave it out")
    if not 0 <= port < 2**16:
        raise ValueError(f"port is {port}; give 0 to 65535, where 0 is any free one")
    if deadline is not None and not deadline > 0:
        raise ValueError(f"deadline is {deadline:g}; give more than 0 seconds, or leave it out")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises OSError with a sentence if it cannot."""
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    if sys.platform != "win32":  # there it would share the port with another program
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # accepted sockets inherit these; a client whose machine is gone is noticed
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SEND_BUFFER)
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, DEAD_AFTER)
    try:
        listener.bind(address)
    except OSError as error:
        listener.close()
        message = (
            f"cannot listen on port {port} of {host} ({error.strerror}); choose another port, "
        )
        raise OSError(error.errno, message + "or 0 for any free one") from error
    listener.listen(BACKLOG)
    return listener


def model_name(engine: Engine) -> str:
    """The served model's name: its hub id, or the last folder of its path."""
    hf = engine.model.hf
    if hf is None:
        return type(engine.model).__name__
    path = PurePath(hf.name_or_path)
    return (
        path.parent.name
        if path.name == "weights"
        else path.name
        if path.is_absolute()
        else str(path)
    )
