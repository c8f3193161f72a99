"""Servers side by side: started, stopped, compared; the others give the same tokens as ours."""

import sys
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest
import torch
from scripted_server import json_answer, serving, words

import minibatch as mb
from minibatch.bench import peers
from minibatch.bench.gguf_file import gguf_name, neighbours
from minibatch.bench.machine_facts import look
from minibatch.bench.peer_servers import PEERS, Peer, running
from minibatch.bench.peers import Measured, different, report
from minibatch.wayfarer import WEIGHTS


def peer(command):
    return Peer("a server", lambda folder, port, most, home: command(port), lambda folder: "m", str)


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


LOADS_FIRST = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Handler(BaseHTTPRequestHandler):
    asked = 0

    def do_GET(self):
        Handler.asked += 1
        self.send_response(503 if Handler.asked < 3 else 200)
        self.end_headers()
        self.wfile.write(b"asked %d times" % Handler.asked)

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


def test_a_server_that_loads_its_model_is_waited_for():
    command = peer(lambda port: [sys.executable, "-c", LOADS_FIRST, str(port)])
    with running(command, Path("."), 1, 1) as server:
        assert httpx.get(server.url, trust_env=False).text == "asked 4 times"


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


def test_one_server_alone_is_not_compared(monkeypatch, capsys):
    for peer in list(PEERS.values())[1:]:
        monkeypatch.setitem(PEERS, peer.name, replace(peer, lacking=lambda: "a program"))
    assert peers.main([]) == 2
    assert "llama.cpp cannot start here; missing: a program" in capsys.readouterr().out


def test_a_gguf_file_has_the_rows_that_rope_rotates_together_side_by_side():
    rows = torch.arange(16.0).reshape(16, 1)  # two heads of 8 rows
    first_head = [0, 4, 1, 5, 2, 6, 3, 7]
    assert neighbours(rows, 8).flatten().tolist() == first_head + [8 + i for i in first_head]


def test_a_gguf_file_has_the_names_of_llama_cpp():
    assert gguf_name("model.embed_tokens.weight") == "token_embd.weight"
    assert gguf_name("model.layers.11.self_attn.o_proj.weight") == "blk.11.attn_output.weight"
    with pytest.raises(KeyError, match="lm_head"):
        gguf_name("lm_head.weight")


@pytest.mark.full
@pytest.mark.parametrize("name", ["transformers serve", "llama.cpp"])
def test_another_server_gives_the_tokens_of_our_engine(name):
    served = PEERS[name]
    if lacking := served.lacking():
        pytest.skip(f"it lacks {lacking}")
    model = mb.load_model()
    requests = mb.workload.agents(model, 8, 0.1)
    with running(served, WEIGHTS, 8, 1) as server:
        result, _ = server.replay(requests)
    theirs = {c.request_id: c for c in result.completions}
    for ours in mb.Engine(model, mb.Continuous(8)).run(requests):
        assert theirs[ours.request_id].text == ours.text
        assert len(theirs[ours.request_id].token_ids) == len(ours.token_ids)
        assert theirs[ours.request_id].finish_reason == ours.finish_reason
    assert len(theirs) == 8
