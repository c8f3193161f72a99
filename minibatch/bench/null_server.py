"""A server without a model, in a process of its own: what it sends, a client could read.

It answers each request with `max_tokens` chunks as fast as it can. A client that reads no more from
it than from a real server has measured itself. `python -m minibatch replay --check-client` uses it.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..core.request import Request
from .replay_url import replay

NUM_TOKENS = 100
_CHUNK = {"id": "cmpl-0", "object": "text_completion", "created": 0, "model": "null"}
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
_MODELS = (
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 24\r\n\r\n"
    b'{"data":[{"id":"null"}]}'
)


def client_limit(num_streams: int) -> str:
    """A sentence: the most tokens a second that this client reads, of so many streams at once. The
    null server uses the processor too, so on few cores the true limit is higher."""
    requests = [Request([1], max_tokens=NUM_TOKENS) for _ in range(num_streams)]
    with null_server() as url:
        replay(url, requests[:1], model="null")  # opens, imports, connects
        result = replay(url, requests, model="null")
    tokens = sum(row.num_tokens for row in result.rows)
    return (
        f"client limit: {result.output_tokens_per_s:,.0f} tokens/s of {num_streams:,} streams from "
        f"a server without a model, {1e6 * result.client.cpu_s / max(1, tokens):.0f} µs of CPU "
        "time a token"
    )


@contextmanager
def null_server() -> Iterator[str]:
    """The URL of one that runs until the block ends."""
    command = [sys.executable, "-m", __name__]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Serve one connection until the client closes it."""
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            fields = dict(line.split(b": ", 1) for line in head[1:-2])
            content = await reader.readexactly(int(fields.get(b"content-length", 0)))
            if not content:  # /v1/models
                writer.write(_MODELS)
                continue
            body = json.loads(content)
            writer.write(_HEAD)
            for _ in range(body["max_tokens"] - 1):
                writer.write(_event(_choice(" a", None)))
                await writer.drain()
                await asyncio.sleep(0)  # the other streams' turn
            usage = {"prompt_tokens": 1, "completion_tokens": body["max_tokens"]}
            writer.write(_event(_choice(" a", "length")) + _event({"choices": [], "usage": usage}))
            writer.write(_chunked(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass  # the client has gone
    finally:
        writer.close()


def _choice(text: str, finish_reason: str | None) -> dict[str, object]:
    return {"choices": [{"index": 0, "text": text, "finish_reason": finish_reason}]}


def _event(content: dict[str, object]) -> bytes:
    return _chunked(b"data: %s\n\n" % json.dumps(_CHUNK | content).encode())


def _chunked(data: bytes) -> bytes:
    """One chunk of HTTP's chunked transfer coding (RFC 9112, section 7.1)."""
    return b"%x\r\n%s\r\n" % (len(data), data)


async def serve() -> None:
    """Print the port, and serve until the process ends."""
    server = await asyncio.start_server(answer, "127.0.0.1", 0, backlog=2_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(serve())
