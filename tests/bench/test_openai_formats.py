"""One answer as each server streams it, read to the same tokens.

Recorded here: transformers 5.23's `transformers serve --continuous-batching`, with Wayfarer's
weights. Written by hand after the source named beside it: all others.
"""

import json

import pytest

from minibatch.bench.answers import Answer, RequestFailed
from minibatch.bench.event_stream import EventStream
from minibatch.bench.openai_pieces import piece_of


def chunk(*choices, **fields):
    return fields | {"choices": list(choices)}


def text(text, finish_reason=None, **fields):
    return chunk({"index": 0, "text": text, "finish_reason": finish_reason, **fields})


def delta(finish_reason=None, extra=None, **fields):
    return chunk({"index": 0, "delta": fields, "finish_reason": finish_reason, **(extra or {})})


def usage(completion, prompt=7):
    total = completion + prompt
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": total,
    }


def recorded(content, finish_reason=None, **fields):
    """`transformers serve` leaves out fields that are null; id and name are shortened."""
    choice = {"index": 0} | content | ({"finish_reason": finish_reason} if finish_reason else {})
    head = {"id": "40a09b13", "created": 1795493286, "model": "weights@main"}
    return head | {"choices": [choice]} | fields


# Each: the answer's tokens in each event; and the events, without the end mark.
FORMATS = {
    # recorded: no end mark, and a report without being asked
    "transformers serve, completion": (
        [1, 1, 1, 1, 1, 0],
        [recorded({"text": t}) for t in ("For", " dinner", " in", " Málaga", ",")]
        + [recorded({"text": ""}, "length", usage=usage(5))],
    ),
    "transformers serve, chat": (
        [0, 1, 1, 1, 0],
        [recorded({"delta": {"role": "assistant"}})]
        + [recorded({"delta": {"content": t}}) for t in ("For", " dinner", " in")]
        + [recorded({"delta": {}}, "length", usage=usage(3))],
    ),
    # vllm/entrypoints/openai/completion/serving.py: completion_stream_generator
    "vLLM, completion": (
        [1, 1, 1, 0],
        [
            text("For", logprobs=None, stop_reason=None) | {"usage": None},
            text(" dinner", logprobs=None, stop_reason=None) | {"usage": None},
            text("", "stop", logprobs=None, stop_reason=None) | {"usage": None},
            chunk(usage=usage(3)),
        ],
    ),
    "vLLM, return_token_ids, several tokens in a chunk": (
        [2, 1, 3, 0],
        [
            text("For dinner", token_ids=[70, 71], prompt_token_ids=[1, 2]),
            text("", token_ids=[72]),
            text(" in Málaga", "length", token_ids=[73, 74, 75]),
            chunk(usage=usage(6)),
        ],
    ),
    "vLLM, continuous_usage_stats, chat": (
        [0, 2, 1, 1, 0],
        [
            delta(role="assistant", content="") | {"usage": usage(0)},
            delta(content="For dinner") | {"usage": usage(2)},
            delta(content=" in") | {"usage": usage(3)},
            delta("stop", content="") | {"usage": usage(4)},
            chunk(usage=usage(4)),
        ],
    ),
    # python/sglang/srt/entrypoints/openai/serving_chat.py, a reasoning model
    "SGLang, chat": (
        [0, 1, 1, 1, 0],
        [
            delta(role="assistant", content="", extra={"matched_stop": None}),
            delta(role=None, content=None, reasoning_content="For", tool_calls=None),
            delta(role=None, content=" dinner", reasoning_content=None, tool_calls=None),
            delta("stop", content=None, extra={"matched_stop": 2}),
            chunk(usage=usage(3)),
        ],
    ),
    # router/src/lib.rs: Completion, ChatCompletionChunk; router/src/server.rs: finish_reason is ""
    # until the end
    "TGI, completion": (
        [1, 1, 1, 0],
        [
            text("For", "", logprobs=None) | {"system_fingerprint": "3.0.0-sha", "usage": None},
            text(" dinner", "", logprobs=None) | {"usage": None},
            text(" in", "length", logprobs=None) | {"usage": None},
            chunk(usage=usage(3)),
        ],
    ),
    # tensorrt_llm/serve/openai_protocol.py: CompletionStreamResponse
    "TensorRT-LLM, completion": (
        [1, 1, 1, 0],
        [
            text("For", token_ids=None, context_logits=None, disaggregated_params=None),
            text(" dinner", token_ids=None, disaggregated_params=None),
            text(" in", "length", token_ids=None, stop_reason=None),
            chunk(usage=usage(3)),
        ],
    ),
    # tools/server/server-task.cpp: to_json_oaicompat_chat_stream
    "llama.cpp, chat": (
        [0, 1, 1, 1],
        [
            delta(role="assistant", content=None),
            delta(content="For"),
            delta(content=" dinner"),
            delta("stop") | {"usage": usage(3), "timings": {"prompt_n": 7, "predicted_n": 3}},
        ],
    ),
}


def read(chunks, end=True):
    """Through the parser of events, an event a second."""
    lines = [f"data: {json.dumps(c, ensure_ascii=False)}\n\n" for c in chunks]
    stream, answer = EventStream(), Answer()
    for second, line in enumerate([*lines, "data: [DONE]\n\n"] if end else lines):
        for event in stream.feed(line.encode()):
            if (piece := piece_of(event.data)) is not None:
                answer.add(float(second), piece)
    return answer


@pytest.mark.parametrize("name", FORMATS)
def test_every_server_counts_to_the_same_tokens(name):
    num_tokens, chunks = FORMATS[name]
    answer = read(chunks, end=not name.startswith("transformers"))
    assert answer.num_tokens() == num_tokens
    assert answer.num_prompt_tokens == 7
    assert answer.finish_reason in ("stop", "length")


@pytest.mark.parametrize("name", FORMATS)
def test_text_is_joined_without_what_only_announces(name):
    text = read(FORMATS[name][1]).text
    assert text.startswith("For dinner")
    assert "assistant" not in text


def test_the_first_chunk_of_a_chat_is_no_first_token():
    num_tokens, chunks = FORMATS["vLLM, continuous_usage_stats, chat"]
    assert num_tokens[0] == 0
    assert read(chunks).token_times()[0] == 1


def test_a_tool_call_has_tokens():
    call = {"index": 0, "function": {"name": "hotels", "arguments": '{"city":'}}
    rest = {"index": 0, "function": {"arguments": '"Málaga"}'}}
    answer = read(
        [
            delta(role="assistant", tool_calls=[call]),
            delta(tool_calls=[rest]),
            delta("tool_calls"),
        ]
    )
    assert answer.num_tokens() == [1, 1, 0]
    assert answer.text == 'hotels{"city":"Málaga"}'


ERRORS = {
    "OpenAI, vLLM, SGLang, llama.cpp": (
        {"error": {"message": "no memory", "code": 500}},
        "no memory",
    ),
    "transformers serve": ({"error": "CUDA out of memory"}, "CUDA out of memory"),
    "TGI": ({"error": "no memory", "error_type": "generation"}, "no memory"),
    "older vLLM": ({"object": "error", "message": "no memory", "code": 400}, "no memory"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_in_the_stream_is_a_failed_request(name):
    content, message = ERRORS[name]
    with pytest.raises(RequestFailed, match=message):
        piece_of(json.dumps(content))


@pytest.mark.parametrize("data", ['{"error": "he said "no""}', "17", "[]", ""])
def test_what_is_not_a_chunk_is_a_failed_request(data):
    with pytest.raises(RequestFailed, match="not JSON|not a JSON object"):
        piece_of(data)
