"""What a server refuses for lack of room or time, and how requests end that are not served."""

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
from scripted import ScriptedModel, connect, raw_request, serving, wait_until, wait_until_idle

import minibatch as mb
from minibatch.schedulers import QueueLimits
from minibatch.server import answers, engine_thread

ASK = {"model": "scripted", "prompt": [5, 6], "max_tokens": 4}


def limited(**limits):
    policy = mb.Continuous(1)
    policy.limits = QueueLimits(**limits)
    return policy


def post(server, **fields):
    return httpx.post(f"{server.url}/v1/completions", json=ASK | fields, timeout=60)


def test_a_full_queue_answers_503_and_says_when_to_come_again():
    model = ScriptedModel(gated=True)
    with serving(model, limited(max_waiting=1)) as server, ThreadPoolExecutor() as pool:
        first = pool.submit(post, server)
        model.stepped.acquire()  # it runs
        second = pool.submit(post, server)
        let_a_command_in(server, model)
        third = pool.submit(post, server)
        let_a_command_in(server, model)
        model.open()
        refused = third.result()
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert "max_waiting is 1" in refused.json()["error"]["message"]
        assert {first.result().status_code, second.result().status_code} == {200}


def test_a_request_that_the_policy_refuses_gets_503_and_the_next_one_is_served():
    class RefusesLong(mb.Continuous):
        def plan(self, now):
            for sequence in [s for s in self.waiting if s.num_prompt_tokens > 10]:
                self.refuse(sequence)
            return super().plan(now)

    with serving(ScriptedModel(), RefusesLong(1)) as server:
        refused = post(server, prompt=[5] * 11)
        assert refused.status_code == 503
        assert refused.headers["retry-after"] == "1"
        assert "refused" in refused.json()["error"]["message"]
        assert post(server).status_code == 200


def wait_until_refused(server):
    """Until the port is closed."""
    with suppress(httpx.HTTPError):
        while True:
            httpx.get(f"{server.url}/health", timeout=60)


def wait_for_a_command(server):
    """Until the engine's thread, which is in a step, has one to run after it."""
    while server.engine_thread._commands.empty():
        threading.Event().wait(0.001)


def let_a_command_in(server, model):
    """Wait for one, and let one step pass."""
    wait_for_a_command(server)
    model.gate.release()
    model.stepped.acquire()


def test_room_for_all_choices_is_checked_before_the_first_begins():
    with serving(policy=limited(max_waiting=2)) as server:
        assert post(server, n=3).status_code == 503
        assert post(server, n=2).status_code == 200
        assert post(server, prompt=[[5], [6]]).status_code == 200
        assert post(server, prompt=[[5], [6], [7, 8]]).status_code == 503
        assert server.engine.trace.summary()["num_requests"] == 4


def test_a_full_queue_counts_tokens():
    with serving(policy=limited(max_waiting_tokens=100)) as server:
        assert post(server, prompt=[5] * 101).status_code == 503
        assert post(server, prompt=[5] * 40, n=3).status_code == 503
        assert post(server, prompt=[5] * 40, n=2).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_a_deadline_answers_504_before_the_first_token(stream):
    model = ScriptedModel(gated=True)
    options = {"server": {"deadline": 1e-9}}
    with serving(model, mb.Continuous(1), **options) as server, ThreadPoolExecutor() as pool:
        first = pool.submit(post, server)
        first.result() if first.done() else None
        model.open()
        late = first.result()  # it was due at once
        assert late.status_code == 504
        assert late.json()["error"]["code"] == "deadline"
        assert post(server, stream=stream).status_code == 504


def test_a_server_that_stops_lets_running_requests_end():
    model = ScriptedModel(gated=True)
    engine = mb.Engine(model, mb.Continuous(8), num_blocks=64)
    server = mb.Server(engine, name="scripted", grace=60).start()
    with ThreadPoolExecutor() as pool:
        answer = pool.submit(post, server)
        model.stepped.acquire()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        wait_until_refused(server)
        model.open()
        assert answer.result().status_code == 200
        stopping.join()
    assert engine.pool.num_free == engine.pool.num_blocks


def test_a_server_that_stops_ends_with_an_error_what_takes_longer_than_its_grace():
    model = ScriptedModel(gated=True)
    engine = mb.Engine(model, mb.Continuous(8), num_blocks=64)
    server = mb.Server(engine, name="scripted", grace=0.0).start()
    with ThreadPoolExecutor() as pool:
        whole = pool.submit(post, server, max_tokens=500)
        model.stepped.acquire()
        stopping = pool.submit(server.stop)
        wait_for_a_command(server)
        model.open()
        stopping.result()
    assert whole.result().status_code == 503
    assert "stopping" in whole.result().json()["error"]["message"]
    assert engine.pool.num_free == engine.pool.num_blocks


def test_a_server_that_stops_cuts_off_what_the_engine_does_not_end():
    model = ScriptedModel(gated=True)
    engine = mb.Engine(model, mb.Continuous(8), num_blocks=64)
    server = mb.Server(engine, name="scripted", grace=-1.9).start()
    connection = connect(server)
    connection.sendall(raw_request(body=ASK | {"max_tokens": 500, "stream": True}))
    model.stepped.acquire()
    stopping = threading.Thread(target=server.stop)
    stopping.start()
    connection.settimeout(60)
    while connection.recv(65536):  # until the server closes it
        pass
    model.open()
    stopping.join()
    connection.close()
    assert not engine.has_work
    assert engine.pool.num_free == engine.pool.num_blocks


def test_an_engine_is_its_owner_s_again_after_the_server():
    engine = mb.Engine(ScriptedModel(), mb.Continuous(8), num_blocks=64)
    runner = engine.runner
    with mb.Server(engine, name="scripted") as server:
        assert post(server).status_code == 200
    server.stop()  # again does nothing
    assert "is stopped" in repr(server)
    assert engine.runner is runner
    assert len(engine.run([mb.Request([5], max_tokens=3)])) == 1
    with pytest.raises(RuntimeError, match="is not running"):
        server.between_steps(list)
    with mb.Server(engine, name="scripted") as server:
        assert post(server).status_code == 200


def test_arguments_that_cannot_be_served_are_refused():
    engine = mb.Engine(ScriptedModel(), mb.Continuous(8), num_blocks=64)
    with pytest.raises(ValueError, match="give an api_key"):
        mb.Server(engine, host="0.0.0.0")
    with mb.Server(engine) as server, pytest.raises(OSError, match=f"port {server.port} of 127"):
        mb.Server(mb.Engine(ScriptedModel(), mb.Static(), num_blocks=64), port=server.port).start()
    virtual = mb.Engine(ScriptedModel(), mb.Static(), num_blocks=64, clock=mb.VirtualClock())
    with pytest.raises(ValueError, match="VirtualClock"):
        mb.Server(virtual)
    engine.add(mb.Request([5]))
    with pytest.raises(ValueError, match="still has requests"):
        mb.Server(engine)


def test_a_reader_that_is_too_slow_is_hung_up_on_and_the_others_are_not(monkeypatch):
    monkeypatch.setattr(engine_thread, "MOST_UNSENT", 50)
    model = ScriptedModel()
    model.max_model_len = 300_000
    with serving(model, num_blocks=20_000) as server:
        slow = connect(server, receive_buffer=4096)
        slow.sendall(raw_request(body=ASK | {"max_tokens": 250_000, "stream": True}))
        slow.recv(100)  # it has begun; nobody reads on
        assert post(server, max_tokens=100).status_code == 200
        wait_until_idle(server)
        slow.close()
        ended = [c.finish_reason for c in server.engine.trace.completions]
        assert sorted(ended) == ["abort", "length"]


def test_unsent_tokens_are_bounded_in_all():
    class Thread:
        cancel = staticmethod(lambda answer: cancelled.append(answer))

    cancelled, thread = [], Thread()
    several = [answers.Answer(1, each_token=True) for _ in range(3)]
    for answer, n in zip(several, (1000, 900, 800), strict=True):
        answer.push(answers.News(0, [5] * n, None))
    thread._reading = set(several)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_thread, "MOST_UNSENT_IN_ALL", 1800)
        engine_thread.EngineThread._end_stuck_ones(thread)
    assert cancelled == several[:1]
    assert several[0].was_hung_up


def test_a_stream_ends_with_an_error_event_if_its_request_fails_later():
    model = ScriptedModel(gated=True)
    with serving(model) as server:
        url = f"{server.url}/v1/completions"
        model.gate.release()
        with httpx.stream("POST", url, json=ASK | {"stream": True}, timeout=60) as answer:
            lines = answer.iter_lines()
            assert json.loads(next(lines).removeprefix("data: "))["choices"][0]["text"] == "D"
            model.fault = RuntimeError("the model is broken")
            model.open()
            last = [line for line in lines if line][-1]
        assert json.loads(last.removeprefix("data: "))["error"]["type"] == "server_error"
        wait_until(server, lambda: not server.engine.has_work)


FORGOTTEN = """
import sys
import httpx
import minibatch as mb
from scripted import ScriptedModel, make_engine

model = ScriptedModel()
server = mb.Server(make_engine(model), name="scripted").start()
body = {"model": "scripted", "prompt": [5], "max_tokens": 3}
print(httpx.post(server.url + "/v1/completions", json=body).status_code)
"""


def test_a_program_that_forgets_to_stop_its_server_ends_all_the_same():
    command = [sys.executable, "-c", FORGOTTEN]
    path = os.pathsep.join(["tests/support", "."])
    environment = os.environ | {"PYTHONPATH": path}
    root = Path(__file__).parents[2]
    done = subprocess.run(
        command, cwd=root, env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.stdout.strip(), done.stderr, done.returncode) == ("200", "", 0)
