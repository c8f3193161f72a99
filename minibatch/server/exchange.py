"""One request's answer on its way to the socket: an ASGI response.

Before changing this file: a client may hang up at any moment, also before the first byte. An
ASGI app is told only where it awaits `receive`. So a task of each request waits for
`http.disconnect`; and however an exchange ends, what still runs of it in the engine is cancelled.
"""

from __future__ import annotations

import asyncio
import json
from time import perf_counter

from starlette.types import Receive, Scope, Send

from ..core.request import Request
from ..engine.intake import stop_token_ids
from ..schedulers import QueueFull
from .answers import Answer, News, Written, overloaded
from .engine_thread import EngineThread
from .errors import ApiError, Disconnected
from .protocol import Ask
from .replies import ChoiceText, Chunks, Reply

EVENT_STREAM = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-cache"),
    (b"x-accel-buffering", b"no"),  # a proxy must not collect chunks
]


class Exchange:
    """ask, requests: what was asked, and one Request for each of its prompts. begun: when the
    request came, in `perf_counter` seconds."""

    def __init__(
        self, thread: EngineThread, ask: Ask, requests: list[Request], reply: Reply, begun: float
    ) -> None:
        self.thread, self.ask, self.requests = thread, ask, requests
        self.reply, self.metrics = reply, thread.metrics
        self.answer = Answer(ask.num_choices, ask.stream or bool(ask.stops))
        model = thread.engine.model
        self.has_text = model.tokenizer is not None
        hidden = stop_token_ids(requests[0], model)
        self.choices = [
            ChoiceText(model.tokenizer, hidden, ask.stops) for _ in range(ask.num_choices)
        ]
        self.written = Written(requests[0].request_id, begun, [])
        self._times: list[float | None] = [None] * ask.num_choices  # of the newest tokens
        self._started = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        self.answer.on_stuck = task.cancel
        watcher = asyncio.create_task(self._watch(receive))
        try:
            await self._submit()
            await (self._stream(send) if self.ask.stream else self._whole(send))
        except Disconnected:
            pass
        except asyncio.CancelledError:
            if not self.answer.was_hung_up:
                raise
            task.uncancel()  # a reader that was too slow: return, and the connection is closed
        except ApiError as error:
            await self._send_error(error, scope, receive, send)
        finally:
            watcher.cancel()
            self.answer.on_stuck = None
            if self.answer.num_open:
                self.thread.cancel(self.answer)

    async def _watch(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self.answer.hang_up()
        if self.answer.num_open:  # at once: the exchange may still wait to be added
            self.thread.cancel(self.answer)

    async def _submit(self) -> None:
        try:
            await self.thread.add(self.answer, self.requests, self.ask.n)
        except QueueFull as error:
            raise overloaded(str(error)) from error
        except ValueError as error:
            raise ApiError(400, str(error)) from error

    async def _stream(self, send: Send) -> None:
        """Headers go out with the first tokens, so that what fails before has its own status."""
        options = self.ask.include_usage, self.ask.continuous_usage_stats
        chunks = Chunks(self.reply, self.choices, *options)
        while not self._is_over:
            news = await self.answer.news()
            out = [piece for each in news for piece in self._events(chunks, each)]
            if self._is_over:
                out.append(chunks.end())
            if not self._started:
                self._started = True
                start = {"type": "http.response.start", "status": 200, "headers": EVENT_STREAM}
                await send(start)
            now = perf_counter()
            if out:
                await send(_body(b"".join(out), more=not self._is_over))
            self._measure(news, now)

    def _events(self, chunks: Chunks, news: News) -> list[bytes]:
        """The chunks that these tokens make; none after the choice's end."""
        choice, index = self.choices[news.index], news.index
        if choice.finish_reason is not None:
            return []
        out = [] if choice.num_tokens else [chunks.first(index)]
        if (text := choice.push(news)) or not self.has_text:
            out.append(chunks.text(index, text))
        if choice.finish_reason is not None:
            self._close(choice, index)
            out.append(chunks.last(index, choice.finish_reason))
        return out

    async def _whole(self, send: Send) -> None:
        texts = [""] * len(self.choices)
        while not self._is_over:
            news = await self.answer.news()
            for each in news:
                choice = self.choices[each.index]
                if choice.finish_reason is None:
                    push = choice.push if self.answer.each_token else choice.push_all
                    texts[each.index] += push(each)
                    if choice.finish_reason is not None:
                        self._close(choice, each.index)
            if self._is_over:
                body = json.dumps(self.reply.whole(texts, self.choices)).encode()
                self._started = True
                headers = [(b"content-type", b"application/json")]
                headers.append((b"content-length", str(len(body)).encode()))
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                now = perf_counter()
                await send(_body(body, more=False))
                self._measure(news, now)

    @property
    def _is_over(self) -> bool:
        return all(choice.finish_reason is not None for choice in self.choices)

    def _close(self, choice: ChoiceText, index: int) -> None:
        """A choice has ended; one that a stop string has ended still runs in the engine."""
        if choice.stopped_by_text:
            self.answer.close(index)
            self.thread.finish(self.answer, index)

    def _measure(self, news: list[News], now: float) -> None:
        """These tokens have been written. now: the time before the write, because the client may
        have them before the write returns."""
        metrics, begun = self.metrics, self.written.received
        self.written.times.extend([now] * sum(len(each.token_ids) for each in news))
        if self.ask.stream:
            for index in {each.index for each in news}:
                last, self._times[index] = self._times[index], now
                if last is None:
                    metrics.ttft.observe(now - begun)
                else:
                    metrics.itl.observe(now - last)
        if self._is_over:
            metrics.e2e.observe(now - begun)
            self.thread.written.append(self.written)

    async def _send_error(
        self, error: ApiError, scope: Scope, receive: Receive, send: Send
    ) -> None:
        if not self._started:
            await error.response()(scope, receive, send)
        elif self.ask.stream:
            await send(_body(error.event(), more=False))


def _body(body: bytes, more: bool) -> dict[str, object]:
    return {"type": "http.response.body", "body": body, "more_body": more}
