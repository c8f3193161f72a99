"""Exceptions in the model, and in what surrounds it."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from scripted import POISON, ScriptedModel, make_engine, serving, wait_until_idle

import minibatch as mb
from minibatch.core.plan import StepPlan
from minibatch.schedulers import QueueLimits
from minibatch.server.isolation import IsolatingRunner, RowsFailed

ASK = {"model": "scripted", "prompt": [5, 6], "max_tokens": 4}


def post(server, **fields):
    return httpx.post(f"{server.url}/v1/completions", json=ASK | fields, timeout=60)


def test_a_request_that_makes_the_model_raise_ends_alone():
    with serving() as server, ThreadPoolExecutor(20) as pool:
        prompts = [[5, POISON] if i % 5 == 0 else [5, 6] for i in range(20)]
        answers = list(pool.map(lambda p: post(server, prompt=p, max_tokens=100), prompts))
        for i, answer in enumerate(answers):
            assert answer.status_code == (500 if i % 5 == 0 else 200)
            if i % 5 == 0:
                error = answer.json()["error"]
                assert error["code"] in ("model_error", "engine_failed")
                assert "poison" in error["message"]
            else:
                assert answer.json()["usage"]["completion_tokens"] == 100
        wait_until_idle(server)
        assert httpx.get(f"{server.url}/health").status_code == 200


class Flaky(ScriptedModel):
    """Fails in every other pass."""

    def runner(self, pool, attention):
        inner = super().runner(pool, attention)

        class Runner:
            def run(self, plan):
                tokens = inner.run(plan)
                if inner.model.num_passes % 2:
                    raise RuntimeError("passing")
                return tokens

        return Runner()


def test_a_fault_that_passes_is_not_seen():
    with serving(Flaky()) as server:
        assert post(server, max_tokens=50).json()["usage"]["completion_tokens"] == 50


def test_each_row_of_a_failed_plan_runs_alone_once():
    engine = make_engine()
    for i, prompt in enumerate([[5], [POISON], [6]]):
        engine.add(mb.Request(prompt, max_tokens=5, request_id=f"r{i}"))
    runner = engine.runner = IsolatingRunner(engine.runner)
    with pytest.raises(RowsFailed, match="'r1'") as caught:
        engine.step()
    assert set(caught.value.errors) == {"r1"}
    assert runner.inner.model.num_passes == 4
    engine.check_invariants()
    assert runner.model is engine.model  # all other attributes are the inner runner's
    assert runner.run(StepPlan([])) == []


def test_three_failing_steps_in_a_row_open_the_circuit():
    model = ScriptedModel()
    with serving(model) as server:
        model.fault = RuntimeError("the model is broken")
        for _ in range(2):
            assert post(server).status_code == 500
            assert httpx.get(f"{server.url}/health").status_code == 200
        assert post(server).status_code == 500
        health = httpx.get(f"{server.url}/health")
        assert health.status_code == 503
        assert "the model is broken" in health.json()["reason"]
        model.fault = None
        assert post(server).status_code == 503  # until it is started again
        wait_until_idle(server)


def test_two_failing_steps_do_not():
    model = ScriptedModel()
    with serving(model) as server:
        for _ in range(3):
            for fault in (RuntimeError("x"), RuntimeError("y"), None):
                model.fault = fault
                assert post(server).status_code == (500 if fault else 200)


class Broken(mb.Continuous):
    """A policy with a fault: it raises when a request of three tokens is there."""

    def plan(self, now):
        if any(sequence.num_prompt_tokens == 3 for sequence in self.waiting):
            raise ValueError("this policy cannot count to three")
        return super().plan(now)


def test_a_policy_that_raises_opens_the_circuit_and_nobody_waits_for_ever():
    with serving(policy=Broken(8)) as server:
        assert post(server).status_code == 200
        answer = post(server, prompt=[1, 2, 3])
        assert answer.status_code == 500
        assert "cannot count to three" in answer.json()["error"]["message"]
        assert post(server).status_code == 503


def test_a_fault_of_the_server_itself_ends_all_requests(monkeypatch):
    with serving() as server:

        def fault(record):
            raise AttributeError("a fault in metrics")

        monkeypatch.setattr(server.metrics, "step", fault)
        assert post(server).status_code == 500
        assert httpx.get(f"{server.url}/health").status_code == 503
        wait_until_idle(server)


@pytest.mark.parametrize("max_tokens", [4, 1])  # the first choice runs on, or has ended
def test_a_queue_that_is_full_when_choices_fork_refuses_only_their_request(max_tokens):
    model, policy = ScriptedModel(gated=True), mb.Continuous(1)
    policy.limits = QueueLimits(max_waiting=4)
    with serving(model, policy) as server, ThreadPoolExecutor() as pool:
        forking = pool.submit(post, server, n=4, max_tokens=max_tokens)
        model.stepped.acquire()
        policy.limits = QueueLimits(max_waiting=1)  # as if others had been preempted meanwhile
        model.open()
        refused = forking.result()
        assert refused.status_code == 503
        assert "max_waiting is 1" in refused.json()["error"]["message"]
        wait_until_idle(server)
        assert post(server).status_code == 200
