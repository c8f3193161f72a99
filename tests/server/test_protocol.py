"""What a body may say, and that everything else is refused with the name of the parameter."""

import json

import pytest
from scripted import ScriptedModel

import minibatch as mb
from minibatch.memory.blocks import BlockPool
from minibatch.server import protocol
from minibatch.server.errors import ApiError
from minibatch.server.parameters import MOST_DEPTH, NEUTRAL, read_json

COMPLETION = {"model": "m", "prompt": "Plan"}
CHAT = {"model": "m", "messages": [{"role": "user", "content": "Plan"}]}


def read(is_chat=False, **fields):
    body = (CHAT if is_chat else COMPLETION) | fields
    return protocol.read(body, is_chat, ScriptedModel(), "m")


def requests(pool=None, is_chat=False, **fields):
    pool = pool or BlockPool(512, 16)
    return protocol.requests_of(read(is_chat, **fields), ScriptedModel(), pool, "r", None)


def refused(is_chat=False, **fields):
    with pytest.raises(ApiError) as caught:
        requests(is_chat=is_chat, **fields)
    assert caught.value.status in (400, 404)
    return caught.value


def test_defaults_are_openai_s():
    (request,) = requests()
    assert (request.temperature, request.top_p, request.max_tokens) == (1.0, 1.0, 16)
    assert (request.seed, request.client, request.priority) == (None, None, 0)
    (request,) = requests(is_chat=True)
    assert request.max_tokens == 2048 - len(request.prompt)


def test_a_chat_has_no_more_room_than_the_pool():
    (request,) = requests(BlockPool(4, 16), is_chat=True)
    engine = mb.Engine(ScriptedModel(), mb.Continuous(1), num_blocks=4)
    (completion,) = engine.run([request])
    assert len(completion.prompt_token_ids) + len(completion.token_ids) == 65


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in NEUTRAL for value in (None, *NEUTRAL[name])]
)
@pytest.mark.parametrize("is_chat", [False, True])
def test_a_neutral_value_of_what_is_not_supported_is_taken(name, value, is_chat):
    assert requests(is_chat=is_chat, **{name: value}) == requests(is_chat=is_chat)


@pytest.mark.parametrize("name", NEUTRAL)
def test_any_other_value_of_it_is_refused_by_name(name):
    for value in (2.5, ["x"], "high", {"type": "json_object"}):
        error = refused(**{name: value})
        assert error.param == name
        assert name in error.message


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", 2.1),
        ("temperature", "1"),
        ("temperature", True),
        ("top_p", 0),
        ("top_p", 1.5),
        ("top_k", 1.5),
        ("n", 0),
        ("n", 33),
        ("max_tokens", 0),
        ("max_tokens", 1.0),
        ("max_tokens", 2**40),
        ("seed", "7"),
        ("seed", 2**64),
        ("stop", ""),
        ("stop", ["a", 5]),
        ("stop", ["a"] * 17),
        ("stop", {}),
        ("stream", 1),
        ("stream_options", {"include_usage": True}),
        ("user", 5),
        ("priority", "high"),
        ("ignore_eos", "yes"),
        ("stop_token_ids", [1.5]),
        ("stop_token_ids", "a"),
        ("stop_token_ids", [-1]),
        ("stop_token_ids", [300]),
        ("prompt", ""),
        ("prompt", []),
        ("prompt", [[]]),
        ("prompt", [5, "a"]),
        ("prompt", [True]),
        ("prompt", None),
        ("prompt", [300]),
        ("prompt", [-1]),
        ("prompt", [5] * 2049),
        ("model", None),
        ("model", "gpt-5"),
        ("best_of", 3),
        ("max_completion_tokens", 5),
        ("message", "x"),
    ],
)
def test_a_wrong_value_is_refused_by_name(name, value):
    assert refused(**{name: value}).param == name


@pytest.mark.parametrize(
    ("messages", "param"),
    [
        ([], "messages"),
        ("Plan", "messages"),
        (["Plan"], "messages[0]"),
        ([{"role": "tool", "content": "x"}], "messages[0].role"),
        ([{"role": "user", "content": None}], "messages[0].content"),
        ([{"role": "user", "content": [{"type": "image_url"}]}], "messages[0].content"),
        ([{"role": "assistant", "content": "", "tool_calls": [{}]}], "messages[0].tool_calls"),
        ([{"role": "user", "content": "x", "cache": 1}], "messages[0].cache"),
    ],
)
def test_messages_that_the_model_cannot_read_are_refused(messages, param):
    assert refused(is_chat=True, messages=messages).param == param


def test_an_answer_may_be_sent_back_as_a_message():
    answer = {"role": "assistant", "content": "Yes.", "refusal": None, "tool_calls": []}
    parts = [{"type": "text", "text": "Pl"}, {"type": "text", "text": "an"}]
    several = [{"role": "developer", "content": "Be brief."}, answer]
    (request,) = requests(is_chat=True, messages=[*several, {"role": "user", "content": parts}])
    text = ScriptedModel().tokenizer.decode(request.prompt)
    assert text == "<s><|system|>Be brief.</s><|assistant|>Yes.</s><|user|>Plan</s><|assistant|>"


@pytest.mark.parametrize("name", ["include_usage", "continuous_usage_stats"])
def test_an_option_of_a_stream_is_true_or_false(name):
    assert getattr(read(stream=True, stream_options={name: True}), name)
    assert not getattr(read(stream=True, stream_options={name: None}), name)
    assert refused(stream=True, stream_options={name: 1}).param == f"stream_options.{name}"


def test_best_of_n_is_n():
    assert read(n=3, best_of=3).n == 3


def test_too_many_choices_of_all_prompts_together_are_refused():
    assert refused(prompt=[[5]] * 9, n=4).param == "n"


def test_where_the_room_ends_the_parameter_is_named_that_helps():
    assert refused(prompt=[5] * 2040, max_tokens=9).param == "max_tokens"
    assert len(requests(prompt=[5] * 2040, max_tokens=8)[0].prompt) == 2040
    assert refused(prompt=[5] * 2048, max_tokens=1).param == "prompt"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"5",
        b'"model"',
        b'{"model": NaN}',
        b'{"model": Infinity}',
        b"\xff\xfe{}",
        b'{"a": "\xff"}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": 1} x',
        b"\x00" * 50,
        b'{"a": ' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b'{"a": ' + b"[" * (MOST_DEPTH + 1) + b"]" * (MOST_DEPTH + 1) + b"}",
        b'{"a": ' * 50_000,
        b'{"a": "' + b"\\" * 10_001,
    ],
)
def test_what_is_not_a_small_json_object_is_refused(body):
    with pytest.raises(ApiError) as caught:
        read_json(body)
    assert caught.value.status == 400
    assert len(caught.value.message) < 300


def test_brackets_in_a_text_are_no_depth():
    text = '[{"\\' * 100
    assert read_json(json.dumps({"a": text}).encode()) == {"a": text}
