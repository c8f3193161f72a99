"""What comes back, once a request has ended."""

from dataclasses import dataclass
from typing import Literal

FinishReason = Literal["stop", "length", "abort", "deadline", "refused"]


@dataclass(frozen=True)
class Completion:
    """The result of the request `request_id`.

    prompt_token_ids, token_ids: lists of token ids, of the prompt and of the answer, a stop token
    at its end included. text: the answer without it. finish_reason: "stop" (a stop token), "length"
    (max_tokens), "abort", "deadline" (it waited too long) or "refused" (the queue was full when it
    arrived). client: the user's name. arrival_time, first_scheduled_time, first_token_time,
    finish_time, and token_times, one for each of token_ids: seconds on the engine's clock; None: it
    never happened.
    """

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
    client: str | None = None

    @property
    def was_served(self) -> bool:
        """Whether its answer is complete, so that it counts in latencies."""
        return self.finish_reason in ("stop", "length")

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
