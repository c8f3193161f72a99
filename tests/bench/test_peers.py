"""Servers side by side: started, stopped, compared; `transformers serve` gives the same tokens."""

import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from scripted_server import json_answer, serving, words

import minibatch as mb
from minibatch.bench import peers
from minibatch.bench.machine_facts import look
from minibatch.bench.peer_servers import PEERS, Peer, running
from minibatch.bench.peers import Measured, different, report
from minibatch.wayfarer import WEIGHTS


def peer(command):
    return Peer("a server", lambda folder, port, most: command(port), lambda folder: "m", str)


def measured(name, texts, seconds):
    return Measured(name, seconds, [2 * s for s in seconds], [100] * len(seconds), seconds, texts)


def test_a_server_runs_until_the_block_ends():
    command = peer(lambda port: [sys.executable, "-m", "http.server", str(port)])
    with running(command, Path("."), 1, 1) as server:
        assert server.process.is_running()
        assert server.cpu_s() > 0
    assert not psutil.pid_exists(server.process.pid)


def test_a_server_that_does_not_start_says_why():
    command = peer(lambda port: [sys.executable, "-c", "raise SystemExit('no such weights')"])
    with (
        pytest.raises(ChildProcessError, match="a server did not start.*\n.*no such weights"),
        running(command, Path("."), 1, 1),
    ):
        pass


def test_a_round_with_a_failed_request_is_no_measurement():
    refuse = json_answer(503, {"error": {"message": "full"}})
    with serving(lambda body: refuse) as server:
        result = mb.replay(server.url, [mb.Request([1], max_tokens=2)])
    with pytest.raises(ValueError, match="a server failed:\n.*(?s:.)*HTTP 503: full"):
        Measured("a server").put(result, 1.0)


def test_a_round_has_tokens_times_and_texts():
    with serving(lambda body: words(2)) as server:
        result = mb.replay(server.url, [mb.Request([1], max_tokens=2, request_id="A")])
    rows = Measured("a server")
    rows.put(result, 0.5)
    assert (rows.tokens, rows.cpu_s, rows.texts) == ([2], [0.5], {"A": "aa"})
    assert rows.cells()[0] == "2"
    assert rows.cells()[3] == "250.00"  # ms of CPU time a token


def test_the_table_has_medians_and_counts_equal_answers():
    one = measured("one", {"A": "x", "B": "y"}, [1.0, 4.0, 2.0])
    other = measured("other", {"A": "x", "B": "z"}, [10.0, 10.0, 10.0])
    assert different([one, other]) == ["B"]
    lines = report(look(), [one, other], 2, 3, 1).splitlines()
    assert next(x.split()[1:] for x in lines if x.startswith("one ")) == [
        *("100", "50", "4.00", "40.00", "2.00")
    ]
    assert lines[-1] == "the same answers: 1 of 2"


def test_a_failed_round_ends_the_comparison_in_a_sentence(monkeypatch, capsys):
    def fails(*arguments):
        raise ValueError("one failed: 1 of 2 requests")

    for peer in PEERS.values():
        monkeypatch.setitem(PEERS, peer.name, replace(peer, lacking=lambda: ""))
    monkeypatch.setattr(peers, "compare", fails)
    assert peers.main([]) == 2
    assert "one failed" in capsys.readouterr().out


@pytest.mark.full
def test_transformers_serve_gives_the_tokens_of_our_engine():
    served = PEERS["transformers serve"]
    if lacking := served.lacking():
        pytest.skip(f"it lacks {lacking}")
    model = mb.load_model()
    requests = mb.workload.agents(model, 4, 0.1)
    with running(served, WEIGHTS, 4, 1) as server:
        result, _ = server.replay(requests)
    theirs = {c.request_id: c for c in result.completions}
    for ours in mb.Engine(model, mb.Continuous(4)).run(requests):
        assert theirs[ours.request_id].text == ours.text
        assert len(theirs[ours.request_id].token_ids) == len(ours.token_ids)
        assert theirs[ours.request_id].finish_reason == ours.finish_reason
    assert len(theirs) == 4
