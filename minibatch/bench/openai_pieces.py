"""One chunk of an OpenAI-compatible stream, read as a `Piece`.

Servers agree on OpenAI's fields and differ in the rest. vLLM and TensorRT-LLM can send token ids;
vLLM and SGLang a usage report in every chunk (`continuous_usage_stats`); llama.cpp and TGI one in
the last chunk; `transformers serve` one in the last chunk, without being asked. A chat may begin
with a chunk that only names the role. Text of a reasoning model, and a tool call, are tokens too.
tests/bench/test_openai_formats.py has chunks of each server, with their sources.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from .answers import Piece, RequestFailed

DONE = "[DONE]"
TEXTS = "content", "reasoning_content", "reasoning"  # of a chat's delta


def piece_of(data: str) -> Piece | None:
    """What one event's data says; None for the mark of the end. Raises RequestFailed for an error
    that the server reports, and for data that are no JSON object."""
    if data.strip() == DONE:
        return None
    try:
        chunk = json.loads(data)
    except ValueError:
        raise RequestFailed(f"the stream has an event that is not JSON: {data[:200]}") from None
    if not isinstance(chunk, Mapping):
        raise RequestFailed(f"the stream has an event that is not a JSON object: {data[:200]}")
    if chunk.get("error") or chunk.get("object") == "error":
        raise RequestFailed(error_text(chunk))
    usage = chunk.get("usage") or {}
    # With n = 1 there is one choice; a chunk without any carries the usage report.
    choice = next(iter(chunk.get("choices") or ()), {})
    delta = choice.get("delta") or {}
    text = choice.get("text") or "".join([delta.get(name) or "" for name in TEXTS])
    text += "".join([_arguments(call) for call in delta.get("tool_calls") or ()])
    token_ids, finish_reason = choice.get("token_ids"), choice.get("finish_reason")
    return Piece(
        text=text,
        token_ids=None if token_ids is None else tuple(token_ids),
        num_tokens=usage.get("completion_tokens"),
        num_prompt_tokens=usage.get("prompt_tokens"),
        finish_reason=str(finish_reason) if finish_reason else None,
        may_hold_token=bool(text or finish_reason or (choice and not delta.get("role"))),
    )


def error_text(content: object) -> str:
    """The sentence in an error's JSON: OpenAI's and vLLM's {"error": {"message": …}}, TGI's
    {"error": …, "error_type": …}, FastAPI's {"detail": …}, older vLLM's {"message": …}."""
    if isinstance(content, Mapping):
        for name in ("error", "message", "detail"):
            if content.get(name):
                return error_text(content[name])
    return str(content)


def _arguments(call: Mapping) -> str:
    function = call.get("function") or {}
    return (function.get("name") or "") + (function.get("arguments") or "")
