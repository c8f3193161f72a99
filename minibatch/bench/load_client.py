"""A load client whose latencies count from the time a request was due, not from when it was sent.

A client that waits for a free connection sends late. If its stopwatch starts only then, no number
includes the wait of its users: coordinated omission (Tene, 2013; vLLM issue 54101: p99 of whole
answers 507 ms reported, 3,330 ms true). Here the due times are fixed before the run, and each row
holds due and sent. Every request becomes a row: those that failed or were cancelled, too.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TypeVar

from ..core.checks import integer
from ..core.completion import Completion
from ..core.request import Request
from ..engine.engine import Engine
from ..schedulers import QueueFull
from .answers import Answer, Piece, RequestFailed
from .load_report import LoadReport, Row

R = TypeVar("R")
Send = Callable[[R], AsyncIterator[Piece] | Awaitable[AsyncIterator[Piece]]]


async def offered(
    due_times: Sequence[float],
    requests: Sequence[R],
    send: Send[R],
    *,
    max_concurrency: int | None = None,
    timeout_s: float | None = None,
) -> LoadReport:
    """Send each request when it is due, whatever has become of those before it.

    due_times: seconds from now, one for each request. send: called with a request; an async
    iterator over the pieces of its answer, or a coroutine that returns one. It raises RequestFailed
    or an OSError (connections, time-outs) for a request that failed. Any other exception is an
    error in `send`: it ends the run, and is raised. max_concurrency: most requests at a time; a
    request above it is sent late, and its latency still counts from when it was due. timeout_s:
    seconds after it was due at which a request is cancelled. If this coroutine is cancelled, so is
    every request.
    """
    slots = asyncio.Semaphore(_most(max_concurrency, len(requests)))
    loop = asyncio.get_running_loop()
    begin, rows = loop.time(), [Row(i, due) for i, due in enumerate(due_times)]
    jobs = sorted(zip(rows, requests, strict=True), key=lambda job: job[0].due)

    async def exchange(row: Row, request: R) -> None:
        async with slots, AsyncExitStack() as stack:
            row.sent = loop.time() - begin
            pieces = send(request)
            pieces = pieces if isinstance(pieces, AsyncIterator) else await pieces
            if hasattr(pieces, "aclose"):  # a time-out closes its connection at once
                stack.push_async_callback(pieces.aclose)
            async for piece in pieces:
                row.answer.add(loop.time() - begin, piece)

    async def one(row: Row, request: R) -> None:
        row.answer, row.ready = Answer(), loop.time() - begin
        until = None if timeout_s is None else begin + row.due + timeout_s
        try:
            async with asyncio.timeout_at(until) as limit:
                await exchange(row, request)
            row.end()
        except asyncio.CancelledError:
            row.end("cancelled", "cancelled while it was sent or answered")
            raise
        except (RequestFailed, OSError) as error:  # TimeoutError is an OSError
            if isinstance(error, TimeoutError) and limit.expired():
                row.end("cancelled", f"no complete answer within {timeout_s:g} s")
            else:
                row.end("failed", str(error) or repr(error))

    try:
        async with asyncio.TaskGroup() as group:
            for row, request in jobs:
                if (wait := begin + row.due - loop.time()) > 0:
                    await asyncio.sleep(wait)
                group.create_task(one(row, request))
    except BaseExceptionGroup as errors:
        raise errors.exceptions[0] from None  # the others were cancelled because of it
    return LoadReport(rows)


def drive(
    engine: Engine, requests: Iterable[Request], max_concurrency: int | None = None
) -> LoadReport:
    """The same client for an engine in this process, on any clock; begins with `engine.reset()`.

    requests: due at their arrival times. max_concurrency: most requests in the engine at a time.
    """
    engine.reset()
    begin, requests = engine.clock.now(), list(requests)
    rows = [Row(i, request.arrival_time or 0.0) for i, request in enumerate(requests)]
    queue = deque(sorted(rows, key=lambda row: row.due))
    live: dict[str, Row] = {}
    num_free, num_seen, origin = _most(max_concurrency, len(rows)), 0, begin
    while queue or live:
        while queue and num_free:
            row, now = queue.popleft(), engine.clock.now()
            if not engine.has_work:
                origin = now  # an engine counts arrival times from here
            row.sent = max(row.due, now - begin)
            request = replace(requests[row.index], arrival_time=max(0.0, begin + row.sent - origin))
            try:
                live[engine.add(request)] = row
                num_free -= 1
            except (ValueError, QueueFull) as error:
                row.error = repr(error)
        if live:
            engine.step()
        for completion in engine.trace.completions[num_seen:]:
            num_seen, num_free = num_seen + 1, num_free + 1
            _fill(live.pop(completion.request_id), completion, begin)
    return LoadReport(rows)


def _most(max_concurrency: int | None, num_requests: int) -> int:
    """Requests at a time; None is no limit."""
    if max_concurrency is None:
        return max(1, num_requests)
    return integer("max_concurrency", max_concurrency, at_least=1)


def _fill(row: Row, completion: Completion, begin: float) -> None:
    reason = completion.finish_reason
    if completion.was_served:
        row.outcome = "served"
    else:
        row.outcome, row.error = "failed" if reason == "refused" else "cancelled", reason
    if completion.first_token_time is not None:
        row.first_token = completion.first_token_time - begin
    row.finish, row.num_tokens = completion.finish_time - begin, len(completion.token_ids)
