"""A model whose answers are known, and whose steps a test lets pass one by one; and a server of it.

Nothing here sleeps: a test waits for an event, or asks the engine's thread again.
"""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from contextlib import contextmanager
from functools import cache

from byte_tokenizer import byte_ids, make_tokenizer

import minibatch as mb

POISON = 7  # a row of a prompt with this token raises
ANSWER = "Day 1: Alfama, São Jorge. Day 2: Belém. Day 3: Sintra. "


@cache
def tokenizer():
    return make_tokenizer()


class ScriptedModel(mb.PretendModel):
    """Every answer is ANSWER, again and again. gate: a semaphore that each step takes once; None
    lets all pass. fault: raised by every forward pass while it is set."""

    vocab_size = 300
    max_model_len = 2048
    eos_token_ids = frozenset([2])

    def __init__(self, answer=ANSWER, gated=False):
        self.tokenizer = tokenizer()
        self.tokens = byte_ids(self.tokenizer, answer.encode())
        self.gate = threading.Semaphore(0) if gated else None
        self.stepped = threading.Semaphore(0)  # released when a step has begun
        self.fault = None
        self.num_passes = 0

    def encode(self, text):
        return self.tokenizer.encode(text, add_special_tokens=not text.startswith("<s>"))

    def runner(self, pool, attention):
        return ScriptedRunner(self)

    def open(self):
        """Let all steps pass."""
        gate, self.gate = self.gate, None
        gate.release()


class ScriptedRunner:
    def __init__(self, model):
        self.model = model

    def run(self, plan):
        model = self.model
        model.num_passes += 1
        model.stepped.release()
        if model.gate is not None:
            model.gate.acquire()
        if model.fault is not None:
            raise model.fault
        tokens = []
        for row in plan.rows:
            sequence = row.sequence
            if POISON in sequence.token_ids[: sequence.num_prompt_tokens]:
                raise RuntimeError("poison")
            at = sequence.num_output_tokens
            new = [model.tokens[(at + i) % len(model.tokens)] for i in range(1 + len(row.draft))]
            tokens.append(row.verified(new) if row.reaches_end else [])
        return tokens


def make_engine(model=None, policy=None, **options):
    options = {"num_blocks": 512, "block_size": 16} | options
    return mb.Engine(model or ScriptedModel(), policy or mb.Continuous(8), **options)


@contextmanager
def serving(model=None, policy=None, server=None, **options):
    """A running server; afterwards nothing of it is left. server: its own options."""
    engine = make_engine(model, policy, **options)
    before = set(threading.enumerate())
    with mb.Server(engine, name="scripted", **(server or {})) as running:
        yield running
        if engine.model.gate is not None:
            engine.model.open()
    assert not engine.has_work
    engine.check_invariants()
    assert engine.pool.num_free == engine.pool.num_blocks
    assert {t.name for t in set(threading.enumerate()) - before if "minibatch" in t.name} == set()


def wait_until(server, holds):
    """Ask the engine's thread until it holds; pytest's time limit ends a wait that is in vain."""
    while not server.between_steps(holds):
        pass


def wait_until_idle(server):
    """Until the engine has no request, and all blocks are back."""
    engine = server.engine
    wait_until(server, lambda: not engine.has_work)
    server.between_steps(engine.check_invariants)
    assert engine.pool.num_free == engine.pool.num_blocks
    assert len(server.engine_thread.choices) == 0


def tasks_of(server):
    """The tasks of the event loop, without the one that asks."""

    async def count():
        return len(asyncio.all_tasks()) - 1

    return asyncio.run_coroutine_threadsafe(count(), server.engine_thread.loop).result()


def wait_until_quiet(server):
    """Until no request, connection or task is left."""
    wait_until_idle(server)
    while server._uvicorn.server_state.connections or tasks_of(server) > 1:
        pass


def raw_request(path="/v1/completions", body=None, headers=(), method="POST", host="localhost"):
    """The bytes of one HTTP request, as a program would send them by hand."""
    data = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
    lines = (
        [f"{method} {path} HTTP/1.1", f"Host: {host}"] if host else [f"{method} {path} HTTP/1.1"]
    )
    if method == "POST":
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode() + (data if method == "POST" else b"")


def connect(server, receive_buffer=None):
    connection = socket.socket()
    if receive_buffer is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
    connection.settimeout(60)
    connection.connect(("127.0.0.1", server.port))
    return connection


def read_response(connection):
    """Status, headers and body of one response with a Content-Length, or until the end. What comes
    after it is left for the next call."""
    head, body = b"", b""
    while not head.endswith(b"\r\n\r\n"):
        if not (data := connection.recv(1)):
            return None if not head else (int(head.split()[1]), {}, b"")
        head += data
    lines = head.decode("latin-1").split("\r\n")
    headers = {k.lower(): v.strip() for k, _, v in (line.partition(":") for line in lines[1:])}
    length = float(headers.get("content-length", "inf"))
    while len(body) < length and (data := connection.recv(int(min(65536, length - len(body))))):
        body += data
    return int(lines[0].split()[1]), headers, body
