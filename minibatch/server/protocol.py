"""OpenAI's parameters to our requests.

Defaults are OpenAI's: temperature 1; `max_tokens` 16 for a completion, and for a chat all that the
context has room for. Beyond OpenAI's: `top_k`, `ignore_eos`, `stop_token_ids`, `cache_salt`, and
`priority`, of which a higher one is served first.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from ..core.request import Request
from ..memory.blocks import BlockPool
from .chat import prompt_of
from .errors import ApiError
from .parameters import Fields

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from ..model.load import Model

MOST_CHOICES = 32  # of one HTTP request: its prompts times n
MOST_STOPS = 16
COMPLETION_TOKENS = 16  # OpenAI's default of max_tokens for a completion


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One HTTP request, checked but not yet encoded.

    prompts: texts or lists of token ids, each for n choices. max_tokens: None is as many as there
    is room for. stops: strings that end a choice. include_usage: whether a last chunk has the
    usage; continuous_usage_stats: whether every chunk has it. settings: the other fields of its
    Requests.
    """

    is_chat: bool
    prompts: list[str | list[int]]
    n: int
    max_tokens: int | None
    stops: tuple[str, ...]
    stream: bool
    include_usage: bool
    continuous_usage_stats: bool
    settings: dict[str, object] = field(repr=False)

    @property
    def num_choices(self) -> int:
        """Of all prompts together."""
        return len(self.prompts) * self.n

    @property
    def prompt_param(self) -> str:
        """The JSON parameter that has the prompt."""
        return "messages" if self.is_chat else "prompt"


def read(body: dict[str, object], is_chat: bool, model: Model, name: str) -> Ask:
    """What a body asks for. name: the served model's. Raises ApiError, naming the parameter."""
    fields = Fields(body)
    asked = fields.text("model")
    if asked != name:
        message = f"there is no model {asked!r} here; use {name!r}"
        raise ApiError(404, message, param="model", code="model_not_found")
    if is_chat:
        prompts: list[str | list[int]] = [prompt_of(fields.take("messages"), model)]
    else:
        prompts = _prompts(fields.take("prompt"))
    n = fields.integer("n", 1, 1, MOST_CHOICES)
    if len(prompts) * n > MOST_CHOICES:
        message = f"of {n} for {len(prompts)} prompts makes more than {MOST_CHOICES} choices"
        message += "; ask for fewer"
        raise fields.error("n", message)
    if fields.take("best_of") not in (None, 1, n):
        raise fields.error("best_of", f"must equal n, {n}; leave it out")
    max_tokens = fields.integer("max_tokens", None if is_chat else COMPLETION_TOKENS, 1, 2**31)
    if is_chat:
        max_tokens = fields.integer("max_completion_tokens", max_tokens, 1, 2**31)
    stops = fields.texts("stop", MOST_STOPS)
    stream = fields.flag("stream")
    include_usage, continuous_usage_stats = _usage_options(fields, stream)
    settings = _settings(fields, model.vocab_size)
    fields.refuse_rest()
    return Ask(
        is_chat=is_chat,
        prompts=prompts,
        n=n,
        max_tokens=max_tokens,
        stops=stops,
        stream=stream,
        include_usage=include_usage,
        continuous_usage_stats=continuous_usage_stats,
        settings=settings,
    )


def requests_of(
    ask: Ask, model: Model, pool: BlockPool, request_id: str, deadline: float | None
) -> list[Request]:
    """A Request for each prompt, encoded. Raises ApiError if the model or the pool has no room for
    one of them. This may take a while for a long text, and may run in any thread."""
    requests = []
    for i, prompt in enumerate(ask.prompts):
        _check_length(prompt, model, ask.prompt_param)
        try:
            ids = model.encode(prompt) if isinstance(prompt, str) else prompt
        except ValueError as error:  # a model without a tokenizer
            raise ApiError(400, str(error), param=ask.prompt_param) from error
        max_tokens = _max_tokens(ask, ids, model, pool)
        name = request_id if len(ask.prompts) == 1 else f"{request_id}-{i}"
        try:
            request = Request(
                ids,
                max_tokens=max_tokens,
                request_id=name,
                deadline=deadline,
                **ask.settings,
            )
        except (TypeError, ValueError) as error:
            raise ApiError(400, str(error)) from error
        requests.append(request)
    return requests


def _check_length(prompt: str | list[int], model: Model, param: str) -> None:
    """Raises ApiError for a text with more characters than the context's tokens could have: to
    encode megabytes takes all cores seconds. (vLLM does the same)"""
    if not isinstance(prompt, str) or model.tokenizer is None:
        return
    most = model.max_model_len * _longest_token(model.tokenizer)
    if len(prompt) > most:
        message = f"{param} has {len(prompt):,} characters; this model reads at most {most:,}"
        raise ApiError(400, message, param=param, code="context_length_exceeded")


@lru_cache(maxsize=8)
def _longest_token(tokenizer: PreTrainedTokenizerBase) -> int:
    """Characters of the longest token."""
    return max(map(len, tokenizer.get_vocab()))


def _max_tokens(ask: Ask, ids: list[int], model: Model, pool: BlockPool) -> int:
    """The longest answer for this prompt. Raises ApiError if there is no room for it."""
    if outside := _outside(ids, model.vocab_size):
        raise ApiError(400, f"{ask.prompt_param} {outside}", param=ask.prompt_param)
    # the last token's K and V are never stored, so the pool holds one token more
    most = min(model.max_model_len, pool.num_blocks * pool.block_size + 1)
    room = most - len(ids)
    wanted = max(1, room) if ask.max_tokens is None else ask.max_tokens
    if not ids or wanted > room:
        param = "max_tokens" if ids and room > 0 else ask.prompt_param
        message = (
            f"{len(ids):,} prompt tokens and {wanted:,} new tokens do not fit: a prompt may have "
        )
        message += f"1 to {most - 1:,}, both together {most:,}; shorten one of them"
        raise ApiError(400, message, param=param, code="context_length_exceeded")
    return wanted


def _settings(fields: Fields, vocab_size: int) -> dict[str, object]:
    """The fields of a Request that have the same meaning here."""
    seed = fields.integer("seed", None, -(2**63), 2**64 - 1)
    stop_ids = fields.take("stop_token_ids") or []
    if stop_ids and not _is_ids(stop_ids):
        raise fields.error("stop_token_ids", "must be a list of token ids")
    if outside := _outside(stop_ids, vocab_size):
        raise fields.error("stop_token_ids", outside)
    return {
        "temperature": fields.number("temperature", 1.0, 0, 2),
        "top_p": fields.number("top_p", 1.0, math.ulp(0.0), 1),
        "top_k": fields.integer("top_k", 0, -1, 2**31),
        "seed": None if seed is None else seed % 2**64,  # OpenAI's may be negative
        "ignore_eos": fields.flag("ignore_eos"),
        "stop_token_ids": stop_ids,
        "priority": fields.integer("priority", 0, -(2**31), 2**31),
        "client": fields.text("user"),
        "cache_salt": fields.text("cache_salt"),
    }


def _usage_options(fields: Fields, stream: bool) -> tuple[bool, bool]:
    """include_usage, and vLLM's continuous_usage_stats, which load generators send."""
    options = fields.take("stream_options")
    if options is None:
        return False, False
    if not isinstance(options, dict):
        raise fields.error("stream_options", "must be an object")
    if not stream:
        raise fields.error("stream_options", "is only for stream=true; leave it out")
    inner = Fields(options, "stream_options.")
    usage = inner.flag("include_usage"), inner.flag("continuous_usage_stats")
    if inner.flag("include_obfuscation"):
        raise inner.error("include_obfuscation", "is not supported; leave it out")
    inner.refuse_rest()
    return usage


def _prompts(prompt: object) -> list[str | list[int]]:
    """A prompt is a text, a list of token ids, or a list of either."""
    if isinstance(prompt, str) or _is_ids(prompt):
        prompts = [prompt]
    else:
        prompts = prompt if isinstance(prompt, list) else []
    if not prompts or not all((isinstance(p, str) and p) or _is_ids(p) for p in prompts):
        message = (
            "prompt must be a text, a list of token ids, or a list of either, none of them empty"
        )
        raise ApiError(400, message, param="prompt")
    return prompts


def _is_ids(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(type(i) is int for i in value)


def _outside(ids: list[int], vocab_size: int) -> str | None:
    """What is wrong with the first id that no token has."""
    wrong = next((i for i in ids if not 0 <= i < vocab_size), None)
    if wrong is None:
        return None
    return f"has token id {wrong}, which is outside the vocabulary, 0 to {vocab_size - 1:,}"
