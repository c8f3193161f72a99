"""What answers the requests that app.py has read: here, one engine in a thread of this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from starlette.types import ASGIApp

from ..core.request import Request
from ..memory.blocks import BlockPool
from .engine_thread import EngineThread
from .exchange import Exchange
from .protocol import Ask
from .replies import Reply

if TYPE_CHECKING:
    from ..model.load import Model


class Backend(Protocol):
    """model, pool: what a request is checked and encoded with. fault: why nothing can be served any
    more; else None."""

    model: Model
    pool: BlockPool

    @property
    def fault(self) -> str | None: ...

    async def metrics(self) -> bytes:
        """In Prometheus' text format."""

    def exchange(self, ask: Ask, requests: list[Request], reply: Reply, begun: float) -> ASGIApp:
        """The response to a request whose head came at `begun`, in `perf_counter` seconds."""


class OneEngine:
    """A Backend of one engine."""

    def __init__(self, thread: EngineThread) -> None:
        self.thread = thread
        self.model, self.pool = thread.engine.model, thread.engine.pool

    @property
    def fault(self) -> str | None:
        """Why the engine cannot serve any more; None if it can."""
        if self.thread.circuit_error is None and not self.thread.is_alive:
            return "the engine thread has ended; restart the server"
        return self.thread.circuit_error

    async def metrics(self) -> bytes:
        """Of the engine, and of its answers."""
        return self.thread.metrics.text()

    def exchange(self, ask: Ask, requests: list[Request], reply: Reply, begun: float) -> Exchange:
        """Its answer on its way to the socket."""
        return Exchange(self.thread, ask, requests, reply, begun)
