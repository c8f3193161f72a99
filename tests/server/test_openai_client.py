"""The official client against a served engine: each understands the other."""

import itertools
import subprocess

import openai
import pytest
from scripted import ANSWER, ScriptedModel, serving, wait_until_idle

import minibatch as mb

ASK = {"model": "scripted", "prompt": "Plan", "max_tokens": 20}
CHAT = {
    "model": "scripted",
    "messages": [{"role": "user", "content": "Plan 3 days."}],
    "max_tokens": 20,
}


@pytest.fixture(scope="module")
def server():
    with serving() as running:
        yield running


@pytest.fixture
def client(server):
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="x", max_retries=0) as client:
        yield client
    wait_until_idle(server)


def text_of(tokens):
    """What so many tokens of the scripted answer say: a token is a byte."""
    whole = (ANSWER * 10).encode()[:tokens]
    return whole.decode(errors="replace")


def test_a_whole_completion(client):
    answer = client.completions.create(**ASK)
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason) == (text_of(20), "length")
    assert (answer.usage.completion_tokens, answer.usage.total_tokens) == (20, 23)
    assert answer.object == "text_completion"


def test_a_whole_chat(client):
    answer = client.chat.completions.create(**CHAT)
    message = answer.choices[0].message
    assert (message.role, message.content) == ("assistant", text_of(20))
    assert answer.object == "chat.completion"


def test_a_streamed_completion_is_the_whole_one_in_pieces(client):
    chunks = list(client.completions.create(**ASK, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == text_of(20)
    assert [chunk.choices[0].finish_reason for chunk in chunks[-2:]] == [None, "length"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert len(chunks) == 20  # 20 tokens, two of which are one letter, and the end


def test_a_streamed_chat_begins_with_its_role_and_ends_with_its_usage(client):
    options = {"include_usage": True}
    chunks = list(client.chat.completions.create(**CHAT, stream=True, stream_options=options))
    assert chunks[0].choices[0].delta.role == "assistant"
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks[:-1]]
    assert "".join(pieces) == text_of(20)
    assert chunks[-1].choices == []
    assert chunks[-1].usage.completion_tokens == 20
    assert all(chunk.usage is None for chunk in chunks[:-1])


@pytest.mark.parametrize("include_usage", [False, True])
def test_every_chunk_has_the_usage_so_far_if_it_is_asked_for(client, include_usage):
    options = {"include_usage": include_usage, "continuous_usage_stats": True}
    ask = CHAT | {"stream": True, "stream_options": options}
    chunks = list(client.chat.completions.create(**ask, n=2))
    counts = [chunk.usage.completion_tokens for chunk in chunks]
    assert counts[0] == 0  # the role
    assert counts == sorted(counts)
    assert counts[-1] == 40
    assert {c.usage.total_tokens - c.usage.completion_tokens for c in chunks} == {
        chunks[0].usage.prompt_tokens
    }
    assert bool(chunks[-1].choices) != include_usage


def test_a_chunk_of_text_counts_its_own_token(client):
    options = {"include_usage": True, "continuous_usage_stats": True}
    chunks = list(client.completions.create(**ASK, stream=True, stream_options=options))
    counts = [chunk.usage.completion_tokens for chunk in chunks]
    assert counts[:3] == [1, 2, 3]
    assert counts[-3:] == [20, 20, 20]  # the last text, the end, the report


def test_a_character_of_two_tokens_is_never_cut(client):
    text = (ANSWER * 2)[:80]
    ask = ASK | {"max_tokens": len(text.encode())}
    chunks = list(client.completions.create(**ask, stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == text
    assert not any("�" in chunk.choices[0].text for chunk in chunks)


def test_token_ids_as_a_prompt_and_several_prompts(client):
    answer = client.completions.create(**ASK | {"prompt": [[5, 6, 8], [9, 10]]})
    assert [choice.index for choice in answer.choices] == [0, 1]
    assert answer.usage.prompt_tokens == 5
    assert client.completions.create(**ASK | {"prompt": [5, 6]}).usage.prompt_tokens == 2
    assert len(client.completions.create(**ASK | {"prompt": ["a", "b"]}).choices) == 2


@pytest.mark.parametrize("stream", [False, True])
def test_n_choices_share_the_blocks_of_one_prompt(server, client, stream):
    ask = ASK | {"prompt": [5] * 65, "n": 3, "stream": stream}
    before = server.engine.trace.num_steps
    answer = client.completions.create(**ask)
    if stream:
        texts = ["", "", ""]
        for chunk in answer:
            texts[chunk.choices[0].index] += chunk.choices[0].text
    else:
        texts = [choice.text for choice in answer.choices]
        assert answer.usage.prompt_tokens == 65
    assert texts == [text_of(20)] * 3
    steps = server.engine.trace.steps[before:]
    assert max(step.sharing.num_shared for step in steps if step.sharing) == 4


def test_n_choices_of_one_token_each_are_requests_of_their_own(client):
    answer = client.completions.create(**ASK | {"n": 3, "max_tokens": 1})
    assert [choice.text for choice in answer.choices] == ["D"] * 3
    assert answer.usage.completion_tokens == 3


@pytest.mark.parametrize("stream", [False, True])
def test_a_stop_string_ends_the_answer_and_counts_as_served(server, client, stream):
    num_served = sum(c.was_served for c in server.engine.trace.completions)
    ask = ASK | {"max_tokens": 200, "stop": [" Day 3", "Nazaré"], "stream": stream}
    answer = client.completions.create(**ask)
    chunks = list(answer) if stream else [answer]
    assert "".join(c.choices[0].text for c in chunks) == ANSWER.partition(" Day 3")[0]
    assert chunks[-1].choices[0].finish_reason == "stop"
    wait_until_idle(server)
    completions = server.engine.trace.completions
    assert sum(c.was_served for c in completions) == num_served + 1
    assert len(completions[-1].token_ids) < 200


def test_the_usage_of_a_stopped_answer_ends_with_its_stop_string(client):
    answer = client.completions.create(**ASK | {"max_tokens": 200, "stop": "Alfama"})
    assert answer.usage.completion_tokens == len(b"Day 1: Alfama")


def test_half_of_a_stop_string_is_shown_when_the_answer_ends_there(client):
    answer = client.completions.create(**ASK | {"max_tokens": 4, "stop": " 2"})
    assert answer.choices[0].text == "Day "


def test_errors_are_the_client_s_exceptions(client):
    with pytest.raises(openai.NotFoundError, match="use 'scripted'"):
        client.completions.create(**ASK | {"model": "gpt-5"})
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(**ASK, logit_bias={"5": 1})
    assert caught.value.param == "logit_bias"
    with pytest.raises(openai.BadRequestError) as caught:
        client.completions.create(**ASK | {"prompt": [5] * 3000})
    assert caught.value.code == "context_length_exceeded"


def test_every_field_of_a_request_reaches_the_engine(server, client):
    seen = []

    @server.engine.on_step
    def look(record):
        seen.extend(server.engine.sequence(n).request for n in record.admitted)

    own = {"top_k": 5, "ignore_eos": True, "priority": 3, "cache_salt": "s", "stop_token_ids": [9]}
    ask = ASK | {"temperature": 0.5, "top_p": 0.25, "seed": -1, "user": "Ana", "extra_body": own}
    client.completions.create(**ask)
    client.chat.completions.create(
        model="scripted", messages=CHAT["messages"], max_completion_tokens=3
    )
    client.chat.completions.create(model="scripted", messages=CHAT["messages"])
    server.engine.off_step(look)
    first, second, third = seen
    assert (first.temperature, first.top_p, first.top_k) == (0.5, 0.25, 5)
    assert (first.seed, first.client, first.priority) == (2**64 - 1, "Ana", 3)
    assert (first.ignore_eos, first.cache_salt, first.stop_token_ids) == (True, "s", (9,))
    assert (second.max_tokens, second.temperature, second.client) == (3, 1.0, None)
    assert third.max_tokens == ScriptedModel.max_model_len - len(third.prompt)


def test_models_and_health(server, client):
    assert [model.id for model in client.models.list()] == ["scripted"]
    assert client.models.retrieve("scripted").owned_by == "minibatch"
    assert client.get("/../health", cast_to=object) == {"status": "ok"}


def test_curl_streams_from_it(server):
    body = '{"model": "scripted", "prompt": "Plan", "max_tokens": 3, "stream": true}'
    command = ["curl", "-sN", f"{server.url}/v1/completions", "-d", body]
    command += ["-H", "Content-Type: application/json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except FileNotFoundError:
        pytest.skip("there is no curl here")
    events = done.stdout.split("\n\n")
    assert [event[:6] for event in events[:-1]] == ["data: "] * 5
    assert events[-2] == "data: [DONE]"


def test_answers_of_wayfarer_are_those_of_the_engine():
    model = mb.load_model()
    request = mb.Request(model.chat("Plan 3 days in Lisbon."), max_tokens=100)
    (expected,) = mb.Engine(model, mb.Continuous(1)).run([request])
    with mb.Server(mb.Engine(model, mb.Continuous(8))) as server:
        client = openai.OpenAI(base_url=f"{server.url}/v1", api_key="x")
        ask = {"messages": [{"role": "user", "content": "Plan 3 days in Lisbon."}]}
        ask |= {"model": server.name, "temperature": 0}
        chunks = client.chat.completions.create(**ask, stream=True)
        pieces = [chunk.choices[0].delta.content or "" for chunk in chunks]
        whole = client.chat.completions.create(**ask)
        client.close()
    assert "".join(pieces) == expected.text == whole.choices[0].message.content
    assert len(list(itertools.filterfalse(None, pieces))) < len(pieces)
