"""One engine, in a process of its own: what Ray Serve starts N times.

The engine has a thread, as in a server of one engine (server/engine_thread.py). The same code makes
an answer (server/exchange.py), but what it sends goes to the ingress. So the metrics count a token
as sent when Ray has it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from time import perf_counter

from starlette.types import Message

from ..server.engine_thread import EngineThread
from ..server.exchange import Exchange
from ..server.metrics import Metrics
from .call import Call, EngineFacts
from .report import report
from .settings import EngineSettings

REPLICA_HEADER = b"x-replica"  # which one answered


class Replica:
    """settings: of its engine. name: Ray's, with which it signs its answers."""

    async def __init__(self, settings: EngineSettings) -> None:
        from ray import serve

        self.name = serve.get_replica_context().replica_id.unique_id
        engine = await asyncio.to_thread(settings.engine)
        self.thread = EngineThread(engine, Metrics(engine, settings.name))
        self.thread.start(asyncio.get_running_loop())

    async def answer(self, call: Call) -> AsyncIterator[Message]:
        """The ASGI messages of its answer. The engine stops as soon as nobody reads on."""
        # of size 1: further tokens wait in the exchange's Answer
        messages: asyncio.Queue[Message | Exception | None] = asyncio.Queue(1)
        exchange = Exchange(self.thread, call.ask, call.requests, call.reply, perf_counter())

        async def run() -> None:
            try:
                await exchange({"type": "http"}, _wait_for_ever, messages.put)
            except Exception as error:
                await messages.put(error)
            else:
                await messages.put(None)

        task = asyncio.create_task(run())
        try:
            while (message := await messages.get()) is not None:
                if isinstance(message, Exception):
                    raise message
                if message["type"] == "http.response.start":
                    signed = [*message["headers"], (REPLICA_HEADER, self.name.encode())]
                    message = message | {"headers": signed}
                yield message
        finally:
            task.cancel()

    def facts(self) -> EngineFacts:
        """What a request is checked with."""
        return EngineFacts.of(self.thread.engine)

    def process(self) -> tuple[str, int]:
        """Its name, and the id of its process."""
        return self.name, os.getpid()

    def metrics(self) -> tuple[str, bytes]:
        """Its name, and its metrics in Prometheus' text format."""
        return self.name, self.thread.metrics.text()

    async def state(self) -> tuple[str, dict[str, int]]:
        """Its name, and what its engine holds, between two steps."""
        engine = self.thread.engine

        def look() -> dict[str, int]:
            engine.check_invariants()
            pool, scheduler = engine.pool, engine.scheduler
            return {
                "running": len(scheduler.running),
                "waiting": len(scheduler.waiting),
                "free_blocks": pool.num_free,
                "num_blocks": pool.num_blocks,
            }

        return self.name, await asyncio.wrap_future(self.thread.submit(look))

    async def record_routing_stats(self) -> dict[str, object]:
        """Called by Ray every second; each router gets it."""
        submitted = self.thread.submit(lambda: report(self.thread.engine))
        return await asyncio.wrap_future(submitted)

    def check_health(self) -> None:
        """Called by Ray now and then; a replica that raises is replaced."""
        if self.thread.circuit_error is not None or not self.thread.is_alive:
            raise RuntimeError(self.thread.circuit_error or "the engine thread has ended")


async def _wait_for_ever() -> Message:
    """No client hangs up on a replica: Ray cancels `answer`."""
    await asyncio.Event().wait()
    return {"type": "http.disconnect"}
