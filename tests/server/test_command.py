"""`python -m minibatch serve`: flags, and how it ends."""

import argparse
import os
import signal
import subprocess
import sys

import httpx
import pytest

import minibatch as mb
from minibatch.server import command

POLICY = """
import minibatch as mb

class Mine(mb.Continuous):
    pass
"""


def options(*arguments):
    return command.make_parser().parse_args(arguments)


def test_a_policy_by_name_with_its_sizes_and_limits():
    given = options("--policy", "budget", "--max-batch-size", "4", "--max-batch-tokens", "64")
    policy = command.make_policy(given)
    assert isinstance(policy, mb.Budget)
    assert (policy.max_batch_size, policy.max_batch_tokens) == (4, 64)
    assert policy.limits == mb.schedulers.QueueLimits(256, None)


def test_a_policy_of_a_file(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(POLICY)
    assert type(command.make_policy(options("--policy", str(file)))).__name__ == "Mine"
    file.write_text(POLICY + "class Other(Mine): pass\n")
    with pytest.raises(ValueError, match="has Mine, Other"):
        command.make_policy(options("--policy", str(file)))
    with pytest.raises(ValueError, match="no such file"):
        command.make_policy(options("--policy", "nothing.py"))


ARENA = """
import minibatch as mb

class Order(mb.schedulers.orders.FirstCome):
    pass

def make_policy(max_batch_size, max_batch_tokens):
    limits = mb.QueueLimits(max_waiting=3)
    return mb.Budget(max_batch_size, max_batch_tokens, order=Order(), limits=limits)
"""


def test_a_policy_of_the_arena_is_served_with_its_own_limits(tmp_path):
    file = tmp_path / "my_policy.py"
    file.write_text(ARENA)
    policy = command.make_policy(options("--policy", str(file), "--max-batch-size", "4"))
    assert (policy.max_batch_size, policy.max_batch_tokens) == (4, 256)
    assert policy.limits == mb.QueueLimits(max_waiting=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policy", "fifo"], "choose from"),
        (["--policy", "sequential", "--max-batch-size", "3"], "Sequential has no such setting"),
        (["--policy", "static", "--max-batch-tokens", "30"], "Static has no such setting"),
        (["--max-queued", "-1"], "max_waiting is -1"),
        (["--max-batch-size", "0"], "max_batch_size is 0"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(arguments, message):
    with pytest.raises(ValueError, match=message):
        command.make_policy(options(*arguments))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such limit")
def test_a_server_may_have_as_many_connections_as_the_system_allows():
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 500), hard))
        command.raise_file_limit()
        raised = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        assert raised >= min(hard, 8192) or hard == resource.RLIM_INFINITY
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_another_host_needs_a_key(capsys):
    assert command.main(["--host", "0.0.0.0", "--port", "0"]) == 2
    assert "give an api_key" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--port", "-1"], "port is -1"),
        (["--port", "99999"], "port is 99999"),
        (["--deadline", "0"], "deadline is 0"),
        (["--deadline", "nan"], "deadline is nan"),
        (["--api-key", ""], "api_key is empty"),
        (["--model", "/nothing"], "there is no folder /nothing"),
    ],
)
def test_what_cannot_be_served_is_refused_before_a_model_is_loaded(arguments, message, capsys):
    assert command.main(["--port", "0", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(capsys):
    engine = mb.Engine(mb.PretendModel(), mb.Static(), num_blocks=8)
    with mb.Server(engine) as server:
        assert command.main(["--port", str(server.port)]) == 2
    assert f"cannot listen on port {server.port}" in capsys.readouterr().err


def test_speculation_by_name():
    assert command.make_proposer(None) is None
    assert isinstance(command.make_proposer("prompt-lookup"), mb.PromptLookup)


def test_the_parser_has_every_flag_of_the_readme():
    flags = {action.option_strings[0] for action in command.make_parser()._actions}
    assert {"--deadline", "--api-key", "--num-blocks", "--max-queued-tokens"} <= flags
    assert isinstance(options(), argparse.Namespace)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows sends no SIGTERM")
def test_it_serves_until_sigterm_and_ends_with_0():
    arguments = [sys.executable, "-m", "minibatch", "serve", "--port", "0", "--num-blocks", "64"]
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        line = process.stdout.readline()
        url = next(word for word in line.split() if word.startswith("http"))
        body = {"model": "wayfarer", "prompt": "Plan", "max_tokens": 3}
        assert httpx.post(f"{url}/completions", json=body, timeout=120).status_code == 200
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0
        assert "Stopping" in process.stdout.read()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
