"""How long the queue may get, and what is said to whoever finds it full.

A queue without a limit never says no: beyond what the machine can serve it grows as long as people
come, and everybody waits longer than the one before. What is refused at once can be asked again
elsewhere. (SGLang: max_queued_requests. vLLM's max_num_queued_reqs, pull request 49445, 2026, and
TGI's max_concurrent_requests count those who run, too; vLLM's max_num_queued_tokens the prompts of
those who still prefill.)
"""

from collections.abc import Sequence as Several
from dataclasses import dataclass

from ..core.checks import integer
from ..core.request import Sequence


class QueueFull(RuntimeError):
    """The queue has no room for one more request; a server answers with HTTP 503."""


@dataclass(frozen=True)
class QueueLimits:
    """max_waiting: most requests in the queue. max_waiting_tokens: most tokens to be computed, of
    all who wait. None sets no limit. Who waits again after giving way counts, but is never refused.
    """

    max_waiting: int | None = None
    max_waiting_tokens: int | None = None

    def __post_init__(self) -> None:
        for name in ("max_waiting", "max_waiting_tokens"):
            if getattr(self, name) is not None:
                integer(name, getattr(self, name), at_least=0)

    def check(self, name: str, num_tokens: int, waiting: Several[Sequence]) -> None:
        """Raises QueueFull, with the numbers, if a request of so many tokens is one too many."""
        said = f"request {name!r} is refused:"
        if self.max_waiting is not None and len(waiting) >= self.max_waiting:
            raise QueueFull(
                f"{said} {len(waiting):,} requests wait; max_waiting is {self.max_waiting:,}. "
                "Ask again later, or raise the limit."
            )
        if self.max_waiting_tokens is None:
            return
        tokens = sum(sequence.num_uncomputed_tokens for sequence in waiting)
        if tokens + num_tokens > self.max_waiting_tokens:
            raise QueueFull(
                f"{said} {tokens:,} tokens wait, and it brings {num_tokens:,}; max_waiting_tokens "
                f"is {self.max_waiting_tokens:,}. Ask again later, or raise the limit."
            )
