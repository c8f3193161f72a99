"""A server of an engine whose steps overlap: the same answers, and faults end alone here, too."""

from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from scripted import POISON, ScriptedModel, ScriptedRunner, serving, wait_until_idle

import minibatch as mb

ASK = {"model": "scripted", "prompt": [5, 6], "max_tokens": 4}


def post(server, **fields):
    return httpx.post(f"{server.url}/v1/completions", json=ASK | fields, timeout=60)


class Launching(ScriptedModel):
    """Its steps are launched, and their errors come when they are collected."""

    def runner(self, pool, attention):
        return LaunchingRunner(self)


class LaunchingRunner(ScriptedRunner):
    def launch(self, plan, before, now):
        return Step(self.model, plan)


class Step:
    times = 0.0, 0.0

    def __init__(self, model, plan):
        self.error, self.new = model.fault, []
        for row in plan.rows:
            prompt = row.sequence.token_ids[: row.sequence.num_prompt_tokens]
            if POISON in prompt[row.start : row.seq_len]:
                self.error = RuntimeError("poison")
            at = (row.seq_len - len(prompt)) % len(model.tokens)
            self.new.append([model.tokens[at]] if row.reaches_end else [])

    def wait(self):
        pass

    def tokens(self):
        if self.error is not None:
            raise self.error
        return self.new


POLICIES = {
    "whole prompts": lambda: mb.Continuous(8),
    "prompts in pieces": lambda: mb.Budget(8, 16),  # a fault may be in a later piece
    "one at a time": lambda: mb.Continuous(1),
}


@pytest.mark.parametrize("policy", POLICIES)
def test_a_request_that_makes_the_model_raise_ends_alone(policy):
    options = {"policy": POLICIES[policy](), "overlap": True}
    with serving(Launching(), **options) as server, ThreadPoolExecutor(20) as pool:
        prompts = [[5] * 40 + [POISON if i % 5 == 0 else 6] for i in range(20)]
        answers = list(pool.map(lambda p: post(server, prompt=p, max_tokens=60), prompts))
        for i, answer in enumerate(answers):
            assert answer.status_code == (500 if i % 5 == 0 else 200)
            if i % 5 == 0:
                assert "poison" in answer.json()["error"]["message"]
            else:
                assert answer.json()["usage"]["completion_tokens"] == 60
        wait_until_idle(server)
        assert httpx.get(f"{server.url}/health").status_code == 200
        assert server.between_steps(lambda: server.engine.trace.num_steps) > 0


def test_three_requests_in_a_row_that_none_survives_open_the_circuit():
    model = Launching()
    with serving(model, overlap=True) as server:
        for _ in range(3):
            for fault in (RuntimeError("x"), RuntimeError("y"), None):
                model.fault = fault
                assert post(server).status_code == (500 if fault else 200)
        model.fault = RuntimeError("the model is broken")
        for _ in range(3):
            assert httpx.get(f"{server.url}/health").status_code == 200
            assert post(server).status_code == 500
        assert httpx.get(f"{server.url}/health").status_code == 503


class FailsOnce(Launching):
    """Its third step fails."""

    num_launched = 0

    def runner(self, pool, attention):
        runner, launch = LaunchingRunner(self), LaunchingRunner.launch

        def launch_one(*arguments):
            step = launch(runner, *arguments)
            self.num_launched += 1
            step.error = RuntimeError("passing") if self.num_launched == 3 else None
            return step

        runner.launch = launch_one
        return runner


def test_after_a_fault_that_passes_the_steps_overlap_again():
    model = FailsOnce()
    with serving(model, overlap=True) as server:
        assert post(server, max_tokens=50).json()["usage"]["completion_tokens"] == 50
        assert model.num_passes == 1  # one step in order
        assert model.num_launched > 45
