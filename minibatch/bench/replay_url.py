"""`mb.replay`: requests, when they are due, against any OpenAI-compatible server.

(`simulator/replay.py` is another thing: it places requests in two kinds of memory, without a
server.) The event loop runs in a thread of its own, so that a notebook, whose thread has a loop
already, can call this like any function.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import replace
from threading import Thread
from typing import TypeVar

from ..core.request import Request
from ..engine.argument_checks import as_requests, check_request
from ..simulator.slo import SLO
from .client_load import ClientLoad
from .load_client import offered
from .openai_client import OpenAIClient
from .replay_report import Replay

MOST_CONNECTIONS = 1_000
SPARE_FILES = 100  # open files besides the connections
TIMEOUT_S = 600.0

T = TypeVar("T")


def replay(
    url: str,
    requests: Iterable[Request],
    *,
    model: str | None = None,
    api_key: str | None = None,
    chat: bool = False,
    max_concurrency: int = MOST_CONNECTIONS,
    timeout_s: float | None = TIMEOUT_S,
    slo: SLO | None = None,
    ignore_eos: bool = True,
    extra_body: Mapping[str, object] | None = None,
) -> Replay:
    """Send each request at its arrival time, read the streams, and report the times the client saw.

    url: of the server, with or without /v1. requests: due at `arrival_time` seconds, None at 0.
    model: the name to request; None: the server's first model. chat: send text prompts as
    chat messages. max_concurrency: most connections; latency counts from when a request was due,
    also if it waited for one. timeout_s: seconds after its due time at which a request is
    cancelled;
    None: never. slo: the limits of goodput. ignore_eos: send this field of vLLM's for requests that
    have it. extra_body: fields added to every request; None removes one. Raises ConnectionError or
    ValueError if the server does not answer at all; a request that fails is a row of the report.
    """
    requests = [
        request if request.request_id is not None else replace(request, request_id=str(i))
        for i, request in enumerate(as_requests(requests))
    ]
    for request in requests:
        check_request(request)
    if not requests:
        raise ValueError("no requests to send; give at least one")
    _allow_open_files(min(max_concurrency, len(requests)) + SPARE_FILES)

    async def main() -> Replay:
        client = OpenAIClient(
            url,
            model=model,
            api_key=api_key,
            chat=chat,
            ignore_eos=ignore_eos,
            extra_body=extra_body,
        )
        for request in requests:
            client.body(request)  # raises for one that cannot be sent at all
        try:
            await client.connect(min(max_concurrency, len(requests)))
            load = ClientLoad()
            async with load:
                report = await offered(
                    [request.arrival_time or 0.0 for request in requests],
                    requests,
                    client.send,
                    max_concurrency=max_concurrency,
                    timeout_s=timeout_s,
                )
        finally:
            await client.aclose()
        return Replay(
            url=client.base,
            model=client.model,
            requests=requests,
            rows=report.rows,
            client=load,
            slo=slo,
        )

    return in_own_thread(main)


def in_own_thread(main: Callable[[], Coroutine[None, None, T]]) -> T:
    """The result of the coroutine, run by an event loop in another thread. An interruption cancels
    it, and is raised here when it has ended."""
    result: list[T] = []
    errors: list[BaseException] = []
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[T]]] = []

    async def run() -> None:
        started.append((asyncio.get_running_loop(), asyncio.current_task()))
        result.append(await main())

    def thread() -> None:
        try:
            asyncio.run(run())
        except BaseException as error:  # raised again below
            errors.append(error)

    worker = Thread(target=thread, name="replay", daemon=True)
    worker.start()
    try:
        worker.join()
    except KeyboardInterrupt:
        for loop, task in started:
            loop.call_soon_threadsafe(task.cancel)
        worker.join()
        raise
    if errors:
        raise errors[0]
    return result[0]


def _allow_open_files(number: int) -> None:
    """Raise this process's own limit of open files, as far as the system allows."""
    if sys.platform == "win32":  # no such limit for sockets
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= number:
        return
    if hard != resource.RLIM_INFINITY and hard < number:
        raise ValueError(
            f"{number:,} open files are needed, and this system allows a process {hard:,}; lower "
            f"max_concurrency to {max(1, hard - SPARE_FILES):,}, or raise the limit (ulimit -n)"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (number, hard))
