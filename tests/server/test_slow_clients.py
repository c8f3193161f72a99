"""Clients that send slowly, or half of a request: they wait alone, and not for ever."""

import socket
import threading

import httpx
import pytest
from scripted import (
    ScriptedModel,
    connect,
    raw_request,
    read_response,
    serving,
    wait_until_quiet,
)

ASK = {"model": "scripted", "prompt": [5] * 40, "max_tokens": 50}


def post(server, **fields):
    return httpx.post(f"{server.url}/v1/completions", json=ASK | fields, timeout=60)


def test_half_of_a_request_and_no_more():
    whole = raw_request(body=ASK)
    with serving() as server:
        clients = []
        for end in (0, 5, 40, len(whole) - 40, len(whole) - 1):
            client = connect(server)
            client.sendall(whole[:end])
            client.shutdown(socket.SHUT_WR)  # half-open: it could still read
            clients.append(client)
        assert post(server).status_code == 200
        for client in clients:
            assert client.recv(65536) == b""  # closed without an answer
            client.close()
        wait_until_quiet(server)
        assert server.engine.trace.summary()["num_requests"] == 1


def test_a_body_that_comes_byte_by_byte_is_read():
    data = raw_request(body=ASK)
    with serving() as server, connect(server) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for i in range(len(data)):
            client.sendall(data[i : i + 1])
        assert read_response(client)[0] == 200
        client.close()
        wait_until_quiet(server)


def test_a_body_that_does_not_come_in_time_is_answered_408(monkeypatch):
    monkeypatch.setattr("minibatch.server.guards.BODY_SECONDS", 0.0)
    with serving() as server, connect(server) as client:
        client.sendall(raw_request(body=ASK)[:-1])
        assert read_response(client)[0] == 408


SLOW = {
    "nothing": [b""],
    "half a head": [raw_request(body=ASK)[:30]],
    "a head after an answer": [raw_request(path="/health", method="GET"), b"POST /v1/comp"],
    "half a pipelined head": [raw_request(path="/health", method="GET") + b"POST /v1/comp"],
    "a body that nobody reads": [raw_request(path="/nothing", body=ASK)[:-1]],
}


@pytest.mark.parametrize("sent", SLOW)
def test_a_head_that_does_not_come_in_time_ends_its_connection(monkeypatch, sent):
    monkeypatch.setattr("minibatch.server.connection.HEAD_SECONDS", 0.2)
    with serving() as server, connect(server) as client:
        for data in SLOW[sent]:
            client.sendall(data)
        received = b""
        while data := client.recv(65536):
            received += data
        assert b"HTTP/1.1 408" in received or sent in ("nothing", "a body that nobody reads")
        wait_until_quiet(server)


def test_a_head_that_came_in_time_may_be_followed_by_a_long_answer(monkeypatch):
    monkeypatch.setattr("minibatch.server.connection.HEAD_SECONDS", 0.2)
    model = ScriptedModel(gated=True)
    with serving(model) as server, connect(server) as client:
        client.sendall(raw_request(body=ASK))
        model.stepped.acquire()
        passed = threading.Event()
        loop = server.engine_thread.loop
        loop.call_soon_threadsafe(loop.call_later, 0.4, passed.set)
        passed.wait()
        model.open()
        assert read_response(client)[0] == 200


@pytest.fixture
def room_for_three(monkeypatch):
    monkeypatch.setattr("minibatch.server.connection.MOST_CONNECTIONS", 3)


def test_when_there_are_too_many_connections_the_longest_idle_one_is_closed(room_for_three):
    with serving() as server:
        idle = [connect(server) for _ in range(5)]
        assert [client.recv(1) for client in idle[:2]] == [b"", b""]
        assert post(server).status_code == 200
        assert idle[2].recv(1) == b""
        for client in idle:
            client.close()
        wait_until_quiet(server)


def test_a_connection_that_is_served_is_not_closed_for_another(room_for_three):
    model = ScriptedModel(gated=True)
    with serving(model) as server:
        served = [connect(server) for _ in range(3)]
        for client in served:
            client.sendall(raw_request(body=ASK))
        while sum(c._is_serving for c in list(server._uvicorn.server_state.connections)) < 3:
            pass
        with connect(server) as late:
            assert late.recv(1) == b""
        model.open()
        for client in served:
            assert read_response(client)[0] == 200
            client.close()
        wait_until_quiet(server)


def test_bodies_that_are_held_back_have_a_bound_in_all(monkeypatch):
    monkeypatch.setattr("minibatch.server.guards.MOST_BODIES", 5000)
    body = ASK | {"user": "a" * 3000}
    with serving() as server, connect(server) as holding:
        holding.sendall(raw_request(body=body)[:-1])
        while server.bodies.num_bytes < 3000:
            pass
        refused = post(server, **body)
        assert (refused.status_code, refused.headers["retry-after"]) == (503, "1")
        assert post(server).status_code == 200
        holding.close()
        wait_until_quiet(server)
        assert server.bodies.num_bytes == 0
        assert post(server, **body).status_code == 200
        assert server.bodies.num_bytes == 0
