"""One answer, from a replica to its client.

Before changing this file: a replica may die at any moment. If nothing was sent to the client, the
request goes to another replica, once. A whole answer is sent when it is complete, so until then it
can be asked for again. After the first tokens of a stream the client gets an error event: another
replica may sample other tokens.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from ray.exceptions import RayActorError, RayTaskError
from ray.serve.exceptions import BackPressureError, DeploymentUnavailableError
from starlette.types import Message, Receive, Scope, Send

from ..server.answers import overloaded
from ..server.errors import ApiError
from .call import Call

if TYPE_CHECKING:
    from ray.serve.handle import DeploymentHandle

LOST = "the replica that served this request has ended; send the request again"


class Relay:
    """replicas: a handle whose `answer` streams."""

    def __init__(self, replicas: DeploymentHandle, call: Call) -> None:
        self.replicas, self.call = replicas, call
        self._has_sent, self._num_tries = False, 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.create_task(self._relay(scope, receive, send))
        watcher = asyncio.create_task(_hung_up(receive))
        try:
            await asyncio.wait({task, watcher}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                await task
        finally:  # the client is gone, or the answer has ended
            for each in (task, watcher):
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each

    async def _relay(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            for last in (False, True):
                try:
                    return await self._once(send)
                except RayActorError as error:
                    if last or self._has_sent:
                        raise ApiError(503, LOST, code="replica_lost") from error
        except ApiError as error:
            await self._fail(error, scope, receive, send)
        except (BackPressureError, DeploymentUnavailableError) as error:
            await self._fail(overloaded(str(error)), scope, receive, send)
        except RayTaskError as error:
            fault = ApiError(500, f"the replica has a fault: {error.cause}", code="replica_fault")
            await self._fail(fault, scope, receive, send)

    async def _once(self, send: Send) -> None:
        self._num_tries += 1
        stream = self.replicas.answer.remote(self.call)
        start: Message | None = None
        try:
            async for message in stream:
                if message["type"] == "http.response.start":
                    tries = (b"x-tries", str(self._num_tries).encode())
                    start = message | {"headers": [*message["headers"], tries]}
                    continue  # it is not sent before there is something to read
                self._has_sent = True
                if start is not None:
                    await send(start)
                    start = None
                await send(message)
        finally:
            stream.cancel()  # does nothing after its end

    async def _fail(self, error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._has_sent:
            await error.response()(scope, receive, send)
        elif self.call.ask.stream:
            body = {"type": "http.response.body", "body": error.event(), "more_body": False}
            await send(body)


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
