"""Sends requests to an OpenAI-compatible server, and reads their streams.

httpx stops at 100 connections unless told otherwise, and its pool looks at every connection for
every request: 1,000 streams of 21 chunks took 17 to 22 s of CPU time through one pool, and 2 s with
a client for each connection (two cores at 2.5 GHz, httpx 0.28.1; the `openai` client, which uses a
pool too: 8 s). So each connection here has a client of its own, and a free one is used again.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress

import httpx

from ..core.request import Request
from .answers import Piece, RequestFailed
from .event_stream import EventStream
from .openai_pieces import error_text, piece_of

ROUTES = "/chat/completions", "/completions"
CONNECT_S = 30.0  # seconds; an answer itself has no limit but `timeout_s` of the load client
NOT_SERVED = ("abort", "error", "cancelled", "timeout")  # finish_reason of a half answer


class OpenAIClient:
    """A server, and how its requests look. Close it with `await aclose()`.

    url: with or without /v1 or the route. model: the name to ask for; None: the first that
    the server names. chat: use /v1/chat/completions, with the prompt as the user's message.
    ignore_eos: send this field of vLLM's where a request has it; OpenAI's API has no such field,
    and some servers refuse it. extra_body: fields added to every request; None removes one.
    """

    def __init__(
        self,
        url: str,
        *,
        model: str | None = None,
        api_key: str | None = None,
        chat: bool = False,
        ignore_eos: bool = True,
        extra_body: Mapping[str, object] | None = None,
    ) -> None:
        self.base = base_url(url)
        self.model, self.chat, self.ignore_eos = model, chat, ignore_eos
        self.extra_body = dict(extra_body or {})
        self.headers = {"accept-encoding": "identity"}
        if api_key:
            self.headers["authorization"] = f"Bearer {api_key}"
        self._ssl = ssl.create_default_context()  # one for all: each takes 10 ms to make
        self._free: list[httpx.AsyncClient] = []

    async def connect(self, num_connections: int = 1) -> None:
        """Ask the server for its models, and make clients for so many connections, which takes
        milliseconds for each: none of this is in the latency of a request.

        Raises ConnectionError if no server answers; ValueError, with what to do, if no model was
        given and the server names none.
        """
        try:
            async with self._connection() as connection:
                response = await connection.get(f"{self.base}/models")
        except httpx.TransportError as error:
            raise ConnectionError(f"no server answers at {self.base}: {error}") from None
        if self.model is None:
            self.model = _first_model(response)
        self._free += [self._new() for _ in range(num_connections - len(self._free))]

    def body(self, request: Request) -> dict[str, object]:
        """The JSON to send. Only what differs from OpenAI's defaults, or is in all servers."""
        body: dict[str, object] = {"model": self.model}
        if self.chat:
            if not isinstance(request.prompt, str):
                raise ValueError(
                    f"request {request.request_id!r} has token ids; a chat takes text only"
                )
            body["messages"] = [{"role": "user", "content": request.prompt}]
        else:
            body["prompt"] = request.prompt
        body |= {"max_tokens": request.max_tokens, "temperature": request.temperature}
        body |= {"stream": True, "stream_options": {"include_usage": True}}
        optional = {
            "top_p": (request.top_p, 1.0),
            "top_k": (request.top_k, 0),
            "seed": (request.seed, None),
            "stop_token_ids": (list(request.stop_token_ids), []),
            "ignore_eos": (request.ignore_eos and self.ignore_eos, False),
            "priority": (request.priority, 0),
            "user": (request.client, None),
        }
        body |= {name: value for name, (value, default) in optional.items() if value != default}
        body |= self.extra_body
        return {name: value for name, value in body.items() if value is not None}

    async def send(self, request: Request) -> AsyncIterator[Piece]:
        """Yields the pieces of the answer. Raises RequestFailed if the server refuses or breaks
        off, ConnectionError if the connection does."""
        route = ROUTES[0] if self.chat else ROUTES[1]
        content = json.dumps(self.body(request)).encode()
        headers = {"content-type": "application/json"}
        ended = False
        try:
            async with (
                self._connection() as connection,
                connection.stream(
                    "POST", self.base + route, content=content, headers=headers
                ) as response,
            ):
                await _check(response)
                events = EventStream()
                async for chunk in response.aiter_raw():
                    for event in events.feed(chunk):
                        piece = piece_of(event.data)
                        if piece is None:
                            ended = True
                            continue
                        if piece.finish_reason in NOT_SERVED:
                            raise RequestFailed(
                                f'the server ended the answer: "{piece.finish_reason}"'
                            )
                        ended = ended or piece.finish_reason is not None
                        yield piece
        except httpx.TransportError as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from error
        if not ended:
            raise RequestFailed(
                "the stream ended without a finish_reason: the answer is incomplete"
            )

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client of its own; free again afterwards, unless something went wrong."""
        client = self._free.pop() if self._free else self._new()
        try:
            yield client
        except BaseException:
            await client.aclose()
            raise
        self._free.append(client)

    def _new(self) -> httpx.AsyncClient:
        timeout = httpx.Timeout(None, connect=CONNECT_S)
        return httpx.AsyncClient(
            headers=self.headers, timeout=timeout, verify=self._ssl, trust_env=False
        )

    async def aclose(self) -> None:
        """Close all connections."""
        while self._free:
            await self._free.pop().aclose()


def base_url(url: str) -> str:
    """The URL up to /v1, of any form that a user may give. Raises ValueError if it is none."""
    url = url if "://" in url else f"http://{url}"
    parts = httpx.URL(url)
    if parts.scheme not in ("http", "https") or not parts.host:
        raise ValueError(f"url is {url!r}; give an address such as http://127.0.0.1:8000")
    text = url.rstrip("/")
    for route in ROUTES:
        text = text.removesuffix(route)
    return text if text.endswith("/v1") else f"{text}/v1"


def _first_model(response: httpx.Response) -> str:
    try:
        response.raise_for_status()
        return response.json()["data"][0]["id"]
    except (httpx.HTTPStatusError, ValueError, LookupError, TypeError) as error:
        raise ValueError(
            f"{response.url} names no model (HTTP {response.status_code}: {type(error).__name__}); "
            "name the server's model: model=… or --model"
        ) from None


async def _check(response: httpx.Response) -> None:
    """Raises RequestFailed unless a stream of events follows."""
    kind = response.headers.get("content-type", "none")
    if response.status_code == 200 and kind.startswith("text/event-stream"):
        return
    text = (await response.aread()).decode("utf-8", errors="replace")
    with suppress(ValueError):
        text = error_text(json.loads(text))
    if response.status_code != 200:
        raise RequestFailed(f"HTTP {response.status_code}: {text[:500]}")
    raise RequestFailed(f"the answer is not a stream of events but {kind}: {text[:200]}")
