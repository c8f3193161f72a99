"""What a load client saw: a row for each request, and its latencies from two begins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from .answers import Answer

Outcome = Literal["served", "failed", "cancelled"]
PERCENTILES = (50, 99, 100)


@dataclass
class Row:
    """One request; times in seconds from the beginning of the run. None: it never happened.

    index: its place in the list given. ready: when the client came to it; later than `due` by the
    client's own delay. sent: later than `ready` by the wait for a free connection. outcome:
    "cancelled" if it had no answer within `timeout_s`, or was aborted; "failed" for every other end
    without a whole answer; error: why. token_times: when each token came, as far as known. answer:
    the pieces as they came; None for an engine in this process.
    """

    index: int
    due: float
    sent: float | None = None
    first_token: float | None = None
    finish: float | None = None
    num_tokens: int = 0
    outcome: Outcome = "failed"
    error: str = ""
    ready: float | None = None
    token_times: list[float] = field(default_factory=list)
    answer: Answer | None = field(default=None, repr=False)

    def end(self, outcome: Outcome = "served", error: str = "") -> None:
        """The answer has ended: count its tokens. One without a token has failed."""
        self.token_times = self.answer.token_times()
        self.num_tokens = len(self.token_times)
        if self.token_times:
            self.first_token, self.finish = self.token_times[0], self.token_times[-1]
        elif outcome == "served":
            outcome, error = "failed", "the answer has no token"
        self.outcome, self.error = outcome, error

    def latency(self, end: float | None, begin: float | None) -> float:
        """Seconds from one to the other; infinite if the request was not served."""
        if self.outcome != "served" or end is None or begin is None:
            return math.inf
        return end - begin


@dataclass
class LoadReport:
    """The rows of a run, in the order the requests were given. `print` shows both columns."""

    rows: list[Row]

    def count(self, outcome: Outcome) -> int:
        """How many requests ended so."""
        return sum(row.outcome == outcome for row in self.rows)

    def ttft(self, percent: float, since: Literal["due", "sent"] = "due") -> float:
        """A percentile of the time to the first token. A request that was not served counts as
        infinitely late."""
        return _percentile(
            [r.latency(r.first_token, getattr(r, since)) for r in self.rows], percent
        )

    def e2e(self, percent: float, since: Literal["due", "sent"] = "due") -> float:
        """The same for the time to the last token."""
        return _percentile([r.latency(r.finish, getattr(r, since)) for r in self.rows], percent)

    def columns(self) -> dict[str, tuple[float, float]]:
        """Seconds by name, such as "TTFT p99": from sent, and from due."""
        return {
            f"{name} {'max' if percent == 100 else f'p{percent}'}": (
                latency(percent, "sent"),
                latency(percent, "due"),
            )
            for name, latency in (("TTFT", self.ttft), ("e2e", self.e2e))
            for percent in PERCENTILES
        }

    def __str__(self) -> str:
        counts = ", ".join(f"{self.count(o)} {o}" for o in ("served", "failed", "cancelled"))
        lines = [f"{len(self.rows)} requests: {counts}", f"{'':9}  from sent   from due"]
        for name, seconds in self.columns().items():
            lines.append(f"{name:9}" + "".join(f"{s:9.3f} s" for s in seconds))
        return "\n".join(lines)


def _percentile(values: list[float], percent: float) -> float:
    """A measured value (nearest rank); it can be infinite."""
    return float(np.percentile(values, percent, method="inverted_cdf"))
