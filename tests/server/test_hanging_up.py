"""Clients that go away, slowly or at once: nothing of them is left, and the others go on."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time

import httpx
import pytest
from scripted import (
    ANSWER,
    ScriptedModel,
    connect,
    raw_request,
    read_response,
    serving,
    wait_until_quiet,
)

import minibatch as mb

ASK = {"model": "scripted", "prompt": [5] * 40, "max_tokens": 50}


def post(server, **fields):
    return httpx.post(f"{server.url}/v1/completions", json=ASK | fields, timeout=60)


def wait_for_a_command(server):
    while server.engine_thread._commands.empty():
        threading.Event().wait(0.001)


@pytest.mark.parametrize("fields", [{"stream": True}, {}, {"n": 3}, {"stop": "Porto"}])
def test_the_blocks_are_back_after_the_step_in_which_the_client_hung_up(fields):
    model = ScriptedModel(gated=True)
    with serving(model) as server:
        client = connect(server)
        client.sendall(raw_request(body=ASK | fields))
        for _ in range(3):
            model.stepped.acquire()  # a step has begun
            model.gate.release()
        model.stepped.acquire()
        passes = model.num_passes
        client.close()
        wait_for_a_command(server)
        model.gate.release()
        free = server.between_steps(lambda: server.engine.pool.num_free)
        assert free == server.engine.pool.num_blocks
        assert model.num_passes == passes
        wait_until_quiet(server)


def test_a_client_that_hangs_up_in_the_queue_is_taken_out_of_it():
    model = ScriptedModel(gated=True)
    with serving(model, mb.Continuous(1)) as server:
        first, second = connect(server), connect(server)
        first.sendall(raw_request(body=ASK))
        model.stepped.acquire()
        second.sendall(raw_request(body=ASK | {"stream": True}))
        wait_for_a_command(server)
        second.close()
        while server.engine_thread._commands.qsize() < 2:
            threading.Event().wait(0.001)
        model.open()
        assert read_response(first)[0] == 200
        first.close()
        wait_until_quiet(server)
        ends = [completion.finish_reason for completion in server.engine.trace.completions]
        assert sorted(ends) == ["abort", "length"]


def test_others_go_on_when_one_hangs_up():
    model = ScriptedModel(gated=True)
    with serving(model) as server:
        leaving, staying = connect(server), connect(server)
        for client in (leaving, staying):
            client.sendall(raw_request(body=ASK))
        model.stepped.acquire()
        leaving.close()
        model.open()
        status, _, body = read_response(staying)
        staying.close()
        assert status == 200
        assert json.loads(body)["choices"][0]["text"] == ANSWER.encode()[:50].decode()
        wait_until_quiet(server)


def test_a_connection_serves_again_and_again():
    with serving() as server, connect(server) as client:
        for _ in range(3):
            client.sendall(raw_request(body=ASK))
            assert read_response(client)[0] == 200
        client.sendall(raw_request(body=ASK) + raw_request(path="/version", method="GET"))
        assert read_response(client)[0] == 200  # pipelined
        assert read_response(client)[0] == 200
        other = connect(server)
        other.sendall(raw_request(body=ASK | {"stream": True}))
        other.close()
        client.sendall(raw_request(body=ASK))
        assert read_response(client)[0] == 200
        client.close()
        wait_until_quiet(server)


async def many_clients(port, number, seed):
    """So many at once; a third hang up at a random moment, some before the first byte. Returns the
    texts of the others, and how many hung up."""
    chance = random.Random(seed)

    async def one():
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        fields = {"stream": chance.random() < 0.7, "n": chance.choice([1, 1, 1, 3])}
        writer.write(raw_request(body=ASK | fields, headers=[("Connection", "close")]))
        leaves_after = chance.choice([0, 1, 3, 10]) if chance.random() < 1 / 3 else None
        if leaves_after is not None:
            for _ in range(leaves_after):
                await reader.read(100)
            if chance.random() < 0.5:
                writer.transport.abort()  # a reset
            writer.close()
            return None
        data = await reader.read()
        writer.close()
        return data

    answers = await asyncio.gather(*[one() for _ in range(number)])
    whole = [data for data in answers if data is not None]
    return whole, number - len(whole)


def served(port, number, seed):
    whole, num_left = asyncio.run(many_clients(port, number, seed))
    for data in whole:
        assert data.startswith(b"HTTP/1.1 200"), data[:300]
        assert b"[DONE]" in data or b'"usage"' in data
    return num_left


def test_five_hundred_clients_of_which_a_third_hang_up(seed_of_run):
    with serving(policy=mb.Continuous(64)) as server:
        num_left = served(server.port, 500, seed_of_run)
        assert 100 < num_left < 250
        wait_until_quiet(server)
        assert post(server).status_code == 200


FARM = """
import socket, sys
request = sys.stdin.buffer.read()
clients = []
for _ in range(50):
    client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    client.sendall(request)
    clients.append(client)
for client in clients:
    client.recv(10)
print("all", flush=True)
while True:
    for client in clients:
        client.recv(1000)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no kill -9 here")
def test_a_farm_of_clients_is_killed():
    model = ScriptedModel(ANSWER)
    model.max_model_len = 100_000
    with serving(model, mb.Continuous(64), num_blocks=100_000) as server:
        command = [sys.executable, "-c", FARM, str(server.port)]
        farm = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        farm.stdin.write(raw_request(body=ASK | {"stream": True, "max_tokens": 90_000}))
        farm.stdin.close()
        assert farm.stdout.readline().strip() == b"all"
        assert len(server.engine_thread.choices) == 50
        os.kill(farm.pid, signal.SIGKILL)
        farm.wait()
        farm.stdout.close()
        wait_until_quiet(server)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_ten_minutes_of_everything(seed_of_run):
    """Waves of clients, with prefix caching and too few blocks; what is left must not grow."""
    options = {"num_blocks": 200, "prefix_caching": True, "speculation": mb.PromptLookup()}
    options["trace"] = mb.Trace(keep=100, latencies=False)
    end, rounds, connections = time.monotonic() + 600, 0, 0
    with serving(policy=mb.Budget(32, 128), **options) as server:
        while time.monotonic() < end:
            served(server.port, 60, f"{seed_of_run}-{rounds}")
            wait_until_quiet(server)
            # answers are kept until the next news; none of them has a token to send
            assert not any(answer.num_unsent for answer in server.engine_thread._reading)
            files = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
            connections = connections or files
            assert files <= connections + 2
            rounds += 1
    assert rounds > 1
