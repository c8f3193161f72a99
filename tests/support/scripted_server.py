"""An HTTP server that writes what a test tells it to, byte for byte, on a port of its own."""

import asyncio
import json
import threading
from contextlib import contextmanager

SSE = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
END = b"0\r\n\r\n"


def chunked(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def event(**content):
    return b"data: " + json.dumps(content).encode() + b"\n\n"


def text(word, finish_reason=None):
    return event(choices=[{"index": 0, "text": word, "finish_reason": finish_reason}])


def usage(prompt, completion):
    report = {"prompt_tokens": prompt, "completion_tokens": completion}
    return event(choices=[], usage=report)


def stream(*events):
    """A whole answer, each event in a chunk of its own."""
    return b"".join([SSE, *map(chunked, events), END])


def words(number):
    """A whole answer of so many tokens."""
    last = text("a", "length")
    return stream(*[text("a")] * (number - 1), last, usage(2, number), b"data: [DONE]\n\n")


def json_answer(status, content):
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n"
    return head.encode() + b"content-length: %d\r\n\r\n" % len(body) + body


MODELS = json_answer(200, {"data": [{"id": "scripted"}]})


class Scripted:
    """url: where it is. bodies, heads: of the requests for answers. num_connections: made so far;
    most_open: at one time."""

    def __init__(self, answer, models):
        self.answer, self.models = answer, models
        self.bodies, self.heads = [], []
        self.num_connections = self.num_open = self.most_open = 0

    async def serve(self, reader, writer):
        self.num_connections += 1
        self.num_open += 1
        self.most_open = max(self.most_open, self.num_open)
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode()
                if head.startswith("GET"):
                    writer.write(self.models)
                    continue
                fields = dict(line.split(": ", 1) for line in head.lower().split("\r\n")[1:-2])
                body = json.loads(await reader.readexactly(int(fields["content-length"])))
                self.heads.append(head)
                self.bodies.append(body)
                answer = self.answer(body)
                if asyncio.iscoroutine(answer):
                    answer = await answer
                writer.write(answer)
                await writer.drain()
                if not answer.endswith(END) and b"content-length" not in answer:
                    return  # broken off
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self.num_open -= 1
            writer.close()


@contextmanager
def serving(answer, models=MODELS):
    """answer: from a request's JSON to the bytes to write, or a coroutine of them. One that does
    not end like an HTTP answer closes the connection."""
    scripted, ready = Scripted(answer, models), threading.Event()

    async def main():
        scripted.stop, loop = asyncio.Event(), asyncio.get_running_loop()
        scripted.end = lambda: loop.call_soon_threadsafe(scripted.stop.set)
        server = await asyncio.start_server(scripted.serve, "127.0.0.1", 0, backlog=2_000)
        scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()
        await scripted.stop.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(main()))
    thread.start()
    ready.wait()
    try:
        yield scripted
    finally:
        scripted.end()
        thread.join()
