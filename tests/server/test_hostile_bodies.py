"""Bodies that are JSON and yet meant to harm: the server answers 400, shortly, and serves on."""

import json
import threading

import httpx
import pytest
from scripted import ScriptedModel, serving, wait_until_idle

import minibatch as mb
from minibatch.server import parameters, protocol

ASK = {"model": "scripted", "prompt": [5] * 40, "max_tokens": 4}


@pytest.fixture(scope="module")
def server():
    with serving(prefix_caching=True) as running:
        yield running
        assert httpx.get(f"{running.url}/health").status_code == 200


def post(server, path="completions", **fields):
    body, kind = json.dumps(ASK | fields), {"Content-Type": "application/json"}
    return httpx.post(f"{server.url}/v1/{path}", content=body, headers=kind, timeout=60)


LONE = "a\ud800b"  # half of a character in UTF-16; JSON can write it, UTF-8 cannot
SURROGATES = {
    "prompt": {"prompt": LONE},
    "model": {"model": LONE},
    "stop": {"stop": [LONE]},
    "user": {"user": LONE},
    "cache_salt": {"cache_salt": LONE},
    "a field's name": {LONE: 1},
    "a field inside": {"stream": True, "stream_options": {LONE: 1}},
}


@pytest.mark.parametrize("place", SURROGATES)
def test_half_of_a_character_is_refused(server, place):
    answer = post(server, **SURROGATES[place])
    assert answer.status_code == 400
    assert "surrogates not allowed" in answer.json()["error"]["message"]
    wait_until_idle(server)
    assert post(server).status_code == 200


def test_a_character_in_two_halves_is_one_character(server):
    answer = post(server, user="\U0001f600")  # json.dumps writes it as two escapes
    assert answer.status_code == 200


def test_an_error_repeats_only_the_beginning_of_what_was_wrong(server):
    for fields in ({"model": "m" * 100_000}, {"x" * 100_000: 1}, {"seed": 10**4000}):
        answer = post(server, **fields)
        assert answer.status_code in (400, 404)
        assert len(answer.content) < 1500
    assert len(httpx.get(f"{server.url}/{'x' * 60_000}").content) < 1500


def test_a_body_of_too_many_lists_is_refused(server):
    lists = [[5]] * parameters.MOST_BRACKETS
    assert "lists and objects" in post(server, metadata=lists).json()["error"]["message"]
    text = "[{" * parameters.MOST_BRACKETS
    assert "characters" in post(server, prompt=text).json()["error"]["message"]


def test_a_large_body_is_read_beside_the_event_loop(server, monkeypatch):
    threads, read = [], protocol.read

    def look(*arguments):
        threads.append(threading.current_thread().name)
        return read(*arguments)

    monkeypatch.setattr(protocol, "read", look)
    assert post(server, user="a" * 100_000).status_code == 200
    assert post(server, user="a").status_code == 200
    assert threads[0] != threads[1] == "minibatch-server"


class Counting(ScriptedModel):
    """Counts the texts that were encoded."""

    num_encoded = 0

    def encode(self, text):
        type(self).num_encoded += 1
        return super().encode(text)


def test_a_text_too_long_for_any_tokenizer_s_context_is_not_encoded():
    model = Counting()
    longest = max(map(len, model.tokenizer.get_vocab()))
    with serving(model) as server:
        before = Counting.num_encoded
        answer = post(server, prompt="a" * (model.max_model_len * longest + 1))
        assert answer.status_code == 400
        assert answer.json()["error"]["code"] == "context_length_exceeded"
        assert Counting.num_encoded == before
        assert post(server, prompt="a" * (model.max_model_len - 10)).status_code == 200


def test_a_slash_at_the_end_is_another_path_and_not_a_redirect(server):
    answer = httpx.post(f"{server.url}/v1/completions/", json=ASK)
    assert answer.status_code == 404


def test_an_engine_takes_any_text_as_a_cache_salt(tiny_model):
    engine = mb.Engine(tiny_model, mb.Continuous(2), num_blocks=64, prefix_caching=True)
    asked = mb.Request([5] * 40, max_tokens=2, cache_salt=LONE)
    assert engine.run([asked])[0].finish_reason == "length"
