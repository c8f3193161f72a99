"""What the server costs: CPU time of its process for each token, and latencies at its clients.

    python -m minibatch.bench.served             # the null engine: 200 streams as fast as it goes
    python -m minibatch.bench.served --step 80 --streams 400
    python -m minibatch.bench.served --wayfarer  # batch 8, with and without the server

The server runs in a process of its own, and its CPU time is read from outside (psutil), so the
client is not in it. The engine alone runs in another one. Both have one thread of PyTorch: threads
that wait for each other spin, which costs more CPU time than the server. CPU times depend little on
what else the machine does, so take the median of several rounds; latencies depend on it very much.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np
import psutil

from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..schedulers import Continuous
from ..server.server import Server
from ..simulator.pretend import PretendModel

PROMPT = "Plan 3 days in Lisbon."


class WordTokenizer:
    """A tokenizer that costs next to nothing: each token is one word."""

    chat_template = None

    def decode(self, ids: list[int], **options: object) -> str:
        return " word" * len(ids)


class NullModel(PretendModel):
    """Computes nothing; a step takes `seconds`."""

    max_model_len = 100_000

    def __init__(self, seconds: float = 0.0) -> None:
        self.tokenizer, self.seconds = WordTokenizer(), seconds

    def runner(self, pool: object, attention: object) -> NullRunner:
        return NullRunner(super().runner(pool, attention), self.seconds)


class NullRunner:
    """A pretend runner that lets time pass."""

    def __init__(self, inner: object, seconds: float) -> None:
        self.inner, self.seconds = inner, seconds

    def run(self, plan: object) -> list[list[int]]:
        if self.seconds:
            time.sleep(self.seconds)
        return self.inner.run(plan)


@dataclass(frozen=True)
class Streamed:
    """One answer as its client saw it: seconds from the request to each token; and how it ended."""

    times: list[float]
    ended: bool


async def stream(port: int, body: dict) -> Streamed:
    """Ask for one streamed completion, with as little work in the client as can be."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    data = json.dumps(body | {"stream": True}).encode()
    head = "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    writer.write(f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data)
    begun, times = time.perf_counter(), []
    ended = False
    while not ended and (line := await reader.readline()):
        if line.startswith(b"data: {"):
            times.append(time.perf_counter() - begun)
        ended = line.startswith(b"data: [DONE]")
    writer.close()
    return Streamed(times[:-1], ended)  # the last chunk has no text


async def stream_all(port: int, bodies: list[dict]) -> list[Streamed]:
    """All at once."""
    return await asyncio.gather(*[stream(port, body) for body in bodies])


def report(answers: list[Streamed], num_tokens: int, cpu: float, wall: float) -> dict[str, float]:
    """The figures: CPU µs of the server a token, and latencies in milliseconds. A chunk has one
    token, as a rule: half a character waits for the next."""
    num_chunks = sum(len(answer.times) for answer in answers)
    ttft = np.array([answer.times[0] for answer in answers if answer.times]) * 1000
    itl = np.concatenate([np.diff(answer.times) for answer in answers]) * 1000
    return {
        "streams": len(answers),
        "lost": sum(not answer.ended for answer in answers),
        "tokens": num_tokens,
        "chunks": num_chunks,
        "cpu_us_per_token": cpu / num_tokens * 1e6,
        "tokens_per_s": num_tokens / wall,
        "ttft_p50_ms": float(np.percentile(ttft, 50)),
        "ttft_p99_ms": float(np.percentile(ttft, 99)),
        "itl_p50_ms": float(np.percentile(itl, 50)),
        "itl_p99_ms": float(np.percentile(itl, 99)),
        "load": psutil.getloadavg()[0],
    }


def measure(options: argparse.Namespace) -> dict[str, float]:
    """Start the server in a process of its own, drive it, and read its CPU time."""
    child = start("--child", options)
    try:
        port, name = json.loads(child.stdout.readline())
        body = {"model": name, "max_tokens": options.tokens, "ignore_eos": True, "temperature": 0}
        prompt = {"prompt": PROMPT} if options.wayfarer else {"prompt": [0] * 8}
        bodies = [body | prompt] * options.streams
        asyncio.run(stream_all(port, bodies[:8]))  # warm
        process = psutil.Process(child.pid)
        before, begun = process.cpu_times(), time.perf_counter()
        answers = asyncio.run(stream_all(port, bodies))
        wall, after = time.perf_counter() - begun, process.cpu_times()
        cpu = after.user + after.system - before.user - before.system
        return report(answers, options.streams * options.tokens, cpu, wall)
    finally:
        child.stdin.close()  # ends it
        child.wait()


def start(role: str, options: argparse.Namespace) -> subprocess.Popen:
    """This module in a process of its own. role: "--child" serves, "--alone" has no server."""
    command = [
        sys.executable,
        "-m",
        "minibatch.bench.served",
        role,
        "--tokens",
        str(options.tokens),
    ]
    command += ["--step", str(options.step), "--streams", str(options.streams)]
    command += ["--wayfarer"] if options.wayfarer else []
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment)


def serve_until_closed(options: argparse.Namespace) -> None:
    """The child: serve until its standard input is closed."""
    with Server(make_engine(options), log_level="error") as server:
        print(json.dumps([server.port, server.name]), flush=True)
        sys.stdin.read()


def make_engine(options: argparse.Namespace) -> Engine:
    """Wayfarer, or the null model, with a slot for each stream."""
    trace = Trace(keep=100, latencies=False)
    if options.wayfarer:
        from ..model.load import load_model

        return Engine(load_model(), Continuous(options.streams), trace=trace)
    model = NullModel(options.step / 1000)
    return Engine(model, Continuous(options.streams), num_blocks=100_000, trace=trace)


def engine_alone(options: argparse.Namespace) -> float:
    """CPU µs a token of the same requests on the same engine, without a server."""
    engine = make_engine(options)
    request = Request(PROMPT, max_tokens=options.tokens, ignore_eos=True)
    engine.run([request] * options.streams)  # warm
    begun = time.process_time()
    engine.run([request] * options.streams)
    return (time.process_time() - begun) / options.streams / options.tokens * 1e6


def main(arguments: list[str] | None = None) -> int:
    """Measure, and print a line of JSON for each round."""
    parser = argparse.ArgumentParser(prog="python -m minibatch.bench.served", description=__doc__)
    parser.add_argument("--streams", type=int, default=None, help="default: 200; for Wayfarer, 8")
    parser.add_argument("--tokens", type=int, default=200, help="tokens of each answer")
    parser.add_argument("--step", type=float, default=0.0, help="milliseconds of a null step")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument(
        "--wayfarer", action="store_true", help="serve Wayfarer, not the null engine"
    )
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--alone", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    options.streams = options.streams or (8 if options.wayfarer else 200)
    if options.child:
        serve_until_closed(options)
        return 0
    if options.alone:
        print(engine_alone(options))
        return 0
    for _ in range(options.rounds):
        figures = measure(options)
        if options.wayfarer:
            alone = float(start("--alone", options).communicate()[0])
            figures["alone_cpu_us_per_token"] = alone
            figures["more_than_alone"] = figures["cpu_us_per_token"] / alone - 1
        print(json.dumps({key: round(value, 3) for key, value in figures.items()}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
