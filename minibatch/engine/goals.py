"""What a run was worth to those who asked: answers in time, and to whom the tokens went."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from ..core.completion import Completion
from .metrics import inter_token_times


@dataclass(frozen=True)
class Goodput:
    """num_good of num_requests were in time; per_s: of these, in each second of the run."""

    num_good: int
    num_requests: int
    per_s: float

    @property
    def share(self) -> float:
        """Of all requests, with those that were refused."""
        return self.num_good / self.num_requests if self.num_requests else 0.0


def goodput(completions: Iterable[Completion], ttft_s: float, itl_s: float) -> Goodput:
    """Requests whose first token came within ttft_s seconds, and every other within itl_s of the
    one before. A request that was refused or aborted, or missed its deadline, was not served in
    time.

    The run lasts from the first arrival to the last end. One gap too long fails a whole answer:
    that is harsh, and no law (Sarathi-Serve looks at the 99th percentile, DistServe at the mean).
    """
    completions = list(completions)
    good = sum(
        c.was_served and c.ttft <= ttft_s and max(inter_token_times(c), default=0.0) <= itl_s
        for c in completions
    )
    begin = min((c.arrival_time for c in completions), default=0.0)
    duration = max((c.finish_time for c in completions), default=0.0) - begin
    return Goodput(good, len(completions), good / duration if duration else 0.0)


def tokens_by_client(
    completions: Iterable[Completion], until: float | None = None
) -> dict[str | None, int]:
    """How many tokens of answers each client had got by then, in seconds on the engine's clock."""
    counts: Counter[str | None] = Counter()
    for c in completions:
        counts[c.client] += sum(until is None or time <= until for time in c.token_times)
    return dict(counts)


def fairness(completions: Iterable[Completion], until: float | None = None) -> float:
    """Jain's index of the clients' tokens: 1 if all got the same, 1/n if one of n got everything.

    (Σx)² / (n · Σx²). Once all are served everybody has what they asked for, so look `until` a
    moment in between. (Jain, Chiu & Hawe, 1984)
    """
    shares = list(tokens_by_client(completions, until).values())
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else 1.0
