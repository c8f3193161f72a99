"""How long the queue may get, and the error for a request that finds it full.

A queue without a limit refuses nothing. Above the machine's capacity it grows as long as requests
come, and each waits longer than the one before. A refused request can be sent elsewhere at once.
(SGLang: max_queued_requests. vLLM's max_num_queued_reqs, pull request 49445, 2026, and TGI's
max_concurrent_requests count running requests, too; vLLM's max_num_queued_tokens counts prompts
that are still in prefill.)
"""

from collections.abc import Sequence as Several
from dataclasses import dataclass

from ..core.checks import integer
from ..core.request import Sequence


class QueueFull(RuntimeError):
    """The queue has no room for one more request; a server answers with HTTP 503."""


@dataclass(frozen=True)
class QueueLimits:
    """max_waiting: most requests in the queue. max_waiting_tokens: most uncomputed tokens of all
    waiting requests. None sets no limit. A preempted request counts, but is never refused.
    """

    max_waiting: int | None = None
    max_waiting_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_waiting", "max_waiting_tokens"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name), at_least=0)

    def check(self, name: str, num_tokens: int, waiting: Several[Sequence]) -> None:
        """Raises QueueFull, with the numbers, if there is no room for a request of `num_tokens`."""
        said = f"request {name!r} is refused:"
        if self.max_waiting is not None and len(waiting) >= self.max_waiting:
            raise QueueFull(
                f"{said} {len(waiting):,} requests wait; max_waiting is {self.max_waiting:,}. "
                "Send the request again later, or raise the limit."
            )
        if self.max_waiting_tokens is None:
            return
        tokens = sum(sequence.num_uncomputed_tokens for sequence in waiting)
        if tokens + num_tokens > self.max_waiting_tokens:
            raise QueueFull(
                f"{said} {tokens:,} tokens wait, and the request has {num_tokens:,}; "
                f"max_waiting_tokens is {self.max_waiting_tokens:,}. Send the request again later, "
                "or raise the limit."
            )
