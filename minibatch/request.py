"""What a user asks (`Request`), where the engine stands with it (`Sequence`), what comes back.

One counter drives everything: `Sequence.num_computed_tokens`, the tokens whose K and V are stored.
Each step lets a sequence catch up from there towards `num_tokens`; prefill, decode, and resuming
after preemption are the same act over different distances. There is no phase flag to keep in step.

    token_ids      [ p p p p p p p p | o o o ]        p prompt, o output
    in the cache   [ x x x x x x x x   x x   ]        the newest token is never there yet
                                          ^ num_computed_tokens
"""

import math
import operator
from collections.abc import Callable, Iterable
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Literal

FinishReason = Literal["stop", "length", "abort"]


@dataclass(slots=True)
class Request:
    """One prompt and how to continue it.

    prompt: a string (encoded by the model's tokenizer) or a list of token ids.
    max_tokens: most tokens to generate, a stop token included.
    temperature: 0 is greedy. top_k: 0 is off. top_p: share of probability kept, 1 is all.
    seed: makes sampling repeatable; None draws one when the request is added.
    stop_token_ids: end after any of these, besides the model's own end token.
    ignore_eos: do not end at the model's end token (benchmarks fix lengths this way).
    arrival_time: seconds after `run` or `stream` begins, or after the first `add` to an engine
        without work; None is now.
    priority: kept for policies that rank requests; the four shipped here serve in order of arrival.
    Raises TypeError or ValueError, naming the value, for anything out of range.
    """

    prompt: str | list[int]
    _: KW_ONLY
    max_tokens: int = 128
    temperature: float = 0.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = None
    stop_token_ids: Iterable[int] = ()
    ignore_eos: bool = False
    arrival_time: float | None = None
    priority: int = 0
    request_id: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str):
            self.prompt = _token_ids("prompt", self.prompt)
        if len(self.prompt) == 0:
            raise ValueError("prompt is empty; give at least one token")
        self.stop_token_ids = _token_ids("stop_token_ids", self.stop_token_ids)
        self.max_tokens = _integer("max_tokens", self.max_tokens, at_least=1)
        self.top_k = _integer("top_k", self.top_k, at_least=0)
        if self.seed is not None:
            self.seed = _integer("seed", self.seed, at_least=0)
            if self.seed >= 2**64:
                raise ValueError(f"seed is {self.seed}; it must be below 2**64")
        _check_number("temperature", self.temperature, "be 0 (greedy) or more", lambda x: x >= 0)
        _check_number("top_p", self.top_p, "lie in (0, 1]", lambda x: 0 < x <= 1)
        if self.request_id == "" or not isinstance(self.request_id, str | None):
            raise ValueError(f"request_id is {self.request_id!r}; give some text, or None")
        if self.arrival_time is not None:
            _check_number(
                "arrival_time", self.arrival_time, "be 0 or more seconds", lambda x: x >= 0
            )


@dataclass(slots=True, eq=False)
class Sequence:
    """A request on its way through the engine. Only `advance` adds tokens; only preempting takes
    computed ones back.

    token_ids: prompt, then output. block_table: ids of the KV blocks it holds, in order.
    Times are the engine clock's, in seconds.
    """

    request: Request
    request_id: str
    token_ids: list[int]
    num_prompt_tokens: int
    stop_token_ids: frozenset[int] = frozenset()
    seed: int = 0
    arrival_time: float = 0.0
    num_computed_tokens: int = 0
    block_table: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    first_scheduled_time: float | None = None
    finish_time: float | None = None
    token_times: list[float] = field(default_factory=list)
    num_preemptions: int = 0

    @property
    def num_tokens(self) -> int:
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def num_uncomputed_tokens(self) -> int:
        """The distance left to catch up: a whole prompt at first, 1 while decoding."""
        return len(self.token_ids) - self.num_computed_tokens

    @property
    def max_num_tokens(self) -> int:
        """Prompt plus the longest answer allowed."""
        return self.num_prompt_tokens + self.request.max_tokens

    @property
    def is_finished(self) -> bool:
        return self.finish_reason is not None

    def num_new_blocks(self, num_tokens: int, block_size: int) -> int:
        """Blocks still missing before `num_tokens` more tokens can be computed."""
        blocks = math.ceil((self.num_computed_tokens + num_tokens) / block_size)
        return max(0, blocks - len(self.block_table))

    def advance(self, num_tokens: int, token_id: int | None, now: float) -> None:
        """Take in one forward pass: the tokens it computed, and the one it generated, if any.

        Finishes on a stop token or at `max_tokens`. The counter moves last: should this be
        interrupted, the tokens are merely computed once more.
        """
        if token_id is not None:
            self.token_ids.append(token_id)
            self.token_times.append(now)
            if token_id in self.stop_token_ids:
                self.finish("stop", now)
            elif self.num_output_tokens >= self.request.max_tokens:
                self.finish("length", now)
        self.num_computed_tokens += num_tokens

    def finish(self, reason: FinishReason, now: float) -> None:
        self.finish_reason = reason
        self.finish_time = now


@dataclass(slots=True, frozen=True)
class Completion:
    """A finished request. Times are the engine clock's, in seconds; None: it never happened."""

    request_id: str
    prompt_token_ids: list[int]
    token_ids: list[int]
    text: str
    finish_reason: FinishReason
    arrival_time: float
    first_scheduled_time: float | None
    first_token_time: float | None
    finish_time: float
    token_times: list[float]

    @property
    def ttft(self) -> float | None:
        """Time to first token, seconds from arrival."""
        return None if self.first_token_time is None else self.first_token_time - self.arrival_time

    @property
    def tpot(self) -> float | None:
        """Mean time per output token after the first, seconds; None for fewer than two tokens."""
        if len(self.token_ids) < 2:
            return None
        return (self.e2e - self.ttft) / (len(self.token_ids) - 1)

    @property
    def e2e(self) -> float:
        """End to end, seconds from arrival to the last token."""
        return self.finish_time - self.arrival_time


@dataclass(slots=True, frozen=True)
class TokenEvent:
    """One token of one request, as `Engine.stream` yields it. `text` may lag behind `token_id`:
    a token can end in the middle of a UTF-8 character, and half a character is never shown.
    A request that is aborted ends with an event without a token (None)."""

    request_id: str
    token_id: int | None
    text: str
    finish_reason: FinishReason | None


def _integer(name: str, value: object, at_least: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} is {value!r}; it must be an integer")
    if (number := operator.index(value)) < at_least:
        raise ValueError(f"{name} is {number}; it must be {at_least} or more")
    return number


def _token_ids(name: str, ids: Iterable[int]) -> list[int]:
    if isinstance(ids, str | bytes) or not (hasattr(ids, "tolist") or isinstance(ids, Iterable)):
        raise TypeError(f"{name} is a {type(ids).__name__}; give a list of token ids")
    ids = ids.tolist() if hasattr(ids, "tolist") else ids
    return [_integer(f"{name}[{i}]", token_id, at_least=0) for i, token_id in enumerate(ids)]


def _check_number(name: str, value: float, wanted: str, fits: Callable[[float], bool]) -> None:
    if not isinstance(value, Real) or not math.isfinite(value) or not fits(value):
        raise ValueError(f"{name} is {value!r}; it must {wanted}")
