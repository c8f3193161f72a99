"""What a user asks (`Request`), how far the engine has come (`Sequence`), and what comes back token
by token (`TokenEvent`); the whole answer is in completion.py.

One counter drives everything: `Sequence.num_computed_tokens`, the tokens whose K and V are stored.
Each step moves it towards `num_tokens`. Prefill, decode, and resuming after a preemption are the
same operation over different distances, so there is no phase flag.

    token_ids      [ p p p p p p p p | o o o ]        p prompt, o output
    in the cache   [ x x x x x x x x   x x   ]        the newest token is never there yet
                                          ^ num_computed_tokens
"""

from collections.abc import Iterable
from dataclasses import KW_ONLY, dataclass, field

from .checks import check_number, integer, token_ids
from .completion import Completion, FinishReason
from .other_names import REQUEST, translates


@dataclass(frozen=True)
class Request:
    """One prompt and how to continue it. It never changes (`dataclasses.replace` makes another).

    prompt: a string (encoded by the model's tokenizer) or a list of token ids.
    max_tokens: most tokens to generate, a stop token included.
    temperature: 0 is greedy. top_k: 0 (or -1) is off. top_p: share of probability kept, 1 is all.
    seed: makes sampling repeatable; None draws one when the request is added.
    stop_token_ids: end after any of these, besides the model's own end token.
    ignore_eos: do not end at the model's end token (benchmarks fix lengths this way).
    arrival_time: seconds after `run` or `stream` begins, or after the first `add` to an engine
        without work; None is now.
    request_id: its name in answers and records; None gets a name when it is added.
    priority: a higher one is served first by a policy that ranks (`schedulers.orders`); the four of
        Part I serve in order of arrival. client: the user's name, for policies that share fairly.
    deadline: seconds after arrival; a request that was not admitted by then ends as "deadline".
    cache_salt: with prefix caching, it finds only K and V computed under the same text.
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
    cache_salt: str | None = None
    client: str | None = None
    deadline: float | None = None

    def __post_init__(self) -> None:
        def set_field(name: str, value: object) -> None:
            object.__setattr__(self, name, value)  # the dataclass is frozen

        if not isinstance(self.prompt, str):
            set_field("prompt", token_ids("prompt", self.prompt))
        if len(self.prompt) == 0:
            raise ValueError("prompt is empty; give at least one token")
        set_field("stop_token_ids", tuple(token_ids("stop_token_ids", self.stop_token_ids)))
        set_field("max_tokens", integer("max_tokens", self.max_tokens, at_least=1))
        set_field("top_k", max(0, integer("top_k", self.top_k, at_least=-1)))
        set_field("priority", integer("priority", self.priority))
        if self.seed is not None:
            set_field("seed", integer("seed", self.seed, at_least=0))
            if self.seed >= 2**64:
                raise ValueError(f"seed is {self.seed}; it must be below 2**64")
        check_number("temperature", self.temperature, "be 0 (greedy) or more", lambda x: x >= 0)
        check_number("top_p", self.top_p, "lie in (0, 1]", lambda x: 0 < x <= 1)
        if self.request_id == "" or not isinstance(self.request_id, str | None):
            raise ValueError(f"request_id is {self.request_id!r}; give some text, or None")
        if not isinstance(self.cache_salt, str | None):
            raise TypeError(f"cache_salt is {self.cache_salt!r}; give some text, or None")
        for name in ("arrival_time", "deadline"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), "be 0 or more seconds", lambda x: x >= 0)


Request.__init__ = translates(REQUEST)(Request.__init__)


@dataclass(eq=False)
class Sequence:
    """A request in the engine. Only `advance` adds tokens.

    request: what the user asked, under the name request_id. token_ids: prompt (num_prompt_tokens),
    then output. stop_token_ids: any of them ends it. seed: of its sampling. num_computed_tokens:
    tokens whose K and V are stored. num_in_flight: tokens after these, which a step computes that
    has not been collected (engine/overlap.py). block_table: ids of the KV blocks that hold them, in
    order.
    parent: the sequence that it was forked from, whose prompt it shares.
    num_preemptions: how often it was preempted. num_once_computed: the most computed tokens that it
    has lost at once. num_tokens_admitted: how many tokens it had when it was last admitted.
    arrival_time, first_scheduled_time: when it arrived, and when it was first admitted.
    token_times: when each output token was generated. abort_time, abort_reason: when and why it
    ended early, if it did. Times are seconds on the engine's clock.
    """

    request: Request
    request_id: str
    token_ids: list[int]
    num_prompt_tokens: int
    stop_token_ids: frozenset[int] = frozenset()
    seed: int = 0
    arrival_time: float = 0.0
    num_computed_tokens: int = 0
    num_in_flight: int = 0
    block_table: list[int] = field(default_factory=list)
    first_scheduled_time: float | None = None
    token_times: list[float] = field(default_factory=list)
    abort_time: float | None = None
    abort_reason: FinishReason = "abort"
    num_preemptions: int = 0
    num_once_computed: int = 0
    num_tokens_admitted: int = 0
    parent: "Sequence | None" = None

    @property
    def num_tokens(self) -> int:
        """Prompt and output together."""
        return len(self.token_ids)

    @property
    def num_output_tokens(self) -> int:
        """Tokens generated so far."""
        return len(self.token_ids) - self.num_prompt_tokens

    @property
    def num_uncomputed_tokens(self) -> int:
        """Tokens still to compute: a whole prompt at first, 1 while decoding. Tokens in flight do
        not count. The token that they yield counts, unless it is the last of the longest answer."""
        left = len(self.token_ids) - self.num_launched_tokens
        if left or not self.num_in_flight:
            return left
        return int(self.num_output_tokens + 1 < self.request.max_tokens)

    @property
    def num_launched_tokens(self) -> int:
        """Tokens whose K and V are stored or in flight: where its next row begins."""
        return self.num_computed_tokens + self.num_in_flight

    @property
    def max_num_tokens(self) -> int:
        """Most tokens whose K and V it may need: its prompt and its longest answer, without the
        last token. No token comes after that one, so its K and V are never read."""
        return self.num_prompt_tokens + self.request.max_tokens - 1

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why it has ended; None until then."""
        num_output_tokens = len(self.token_ids) - self.num_prompt_tokens
        if num_output_tokens and self.token_ids[-1] in self.stop_token_ids:
            return "stop"
        if num_output_tokens >= self.request.max_tokens:
            return "length"
        return None if self.abort_time is None else self.abort_reason

    @property
    def is_finished(self) -> bool:
        """Whether it has ended, early or not."""
        return self.finish_reason is not None

    @property
    def finish_time(self) -> float | None:
        """When its last token came, or when it was ended early; None until then."""
        if not self.is_finished:
            return None
        return self.token_times[-1] if self.abort_time is None else self.abort_time

    def num_new_blocks(self, num_tokens: int, block_size: int) -> int:
        """Blocks that its table lacks to compute `num_tokens` more tokens."""
        tokens = self.num_launched_tokens + num_tokens
        return max(0, -(-tokens // block_size) - len(self.block_table))  # rounded up

    def advance(self, num_tokens: int, tokens: list[int], now: float) -> None:
        """Append what one forward pass computed.

        num_tokens: how many of the tokens it had were computed. tokens: the new ones: none if the
        row did not reach the end; one as a rule; several where draft tokens were accepted. Those
        after a stop token, or past `max_tokens`, are dropped. Afterwards the counter covers all
        tokens but the newest. After an exception at any point in here the sequence can continue:
        times are written before their tokens, the counter last.
        """
        if tokens:
            new = self._until_the_end(tokens)
            self.token_times[self.num_output_tokens :] = [now] * len(new)
            self.token_ids += new
            num_tokens += len(new) - 1
        self.num_computed_tokens += num_tokens

    def completion(self, text: str) -> Completion:
        """The result for the user, after it has finished."""
        return Completion(
            request_id=self.request_id,
            prompt_token_ids=self.token_ids[: self.num_prompt_tokens],
            token_ids=self.token_ids[self.num_prompt_tokens :],
            text=text,
            finish_reason=self.finish_reason,
            arrival_time=self.arrival_time,
            first_scheduled_time=self.first_scheduled_time,
            first_token_time=self.token_times[0] if self.token_times else None,
            finish_time=self.finish_time,
            token_times=self.token_times,
            client=self.request.client,
        )

    def _until_the_end(self, tokens: list[int]) -> list[int]:
        left = self.request.max_tokens - self.num_output_tokens
        for i, token_id in enumerate(tokens[:left], start=1):
            if token_id in self.stop_token_ids:
                return tokens[:i]
        return tokens[:left]


@dataclass(frozen=True)
class TokenEvent:
    """One token of the request `request_id`, as `Engine.stream` yields it. `text` may lag behind
    `token_id`: a token can end in the middle of a UTF-8 character, and half a character is never
    shown. finish_reason: None until the last one. A request that is aborted ends with an event
    without a token (None)."""

    request_id: str
    token_id: int | None
    text: str
    finish_reason: FinishReason | None
