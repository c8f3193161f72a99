"""The result of a replay: a table, a trace for the course's pictures, and a file of rows."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..core.completion import Completion
from ..core.request import Request
from ..simulator.slo import SLO, Attainment, attainment
from ..simulator.statistics import percentile
from .client_load import ClientLoad
from .load_report import LoadReport, Row
from .replay_trace import ReplayTrace, completion_of

PERCENTILES = (50, 90, 99)
NEAR = 0.01  # of the requested prompt tokens: a server may add its own begin token


@dataclass
class Replay(LoadReport):
    """What the client saw, request by request. `print` shows the table.

    url, model: of the server. requests: as sent, each with an id. rows: one for each of them, times
    in seconds from the beginning of the run. client: the load of the client itself. slo: the limits
    of goodput, or None.
    """

    url: str
    model: str
    requests: list[Request]
    rows: list[Row]
    client: ClientLoad
    slo: SLO | None = None

    @cached_property
    def completions(self) -> list[Completion]:
        """One for each request, in the order of their ends: what pictures and `mb.slo` take."""
        some = [completion_of(row, r) for row, r in zip(self.rows, self.requests, strict=True)]
        return sorted(some, key=lambda c: c.finish_time)

    @cached_property
    def trace(self) -> ReplayTrace:
        """The completions as a trace without steps, for the pictures that need no steps."""
        return ReplayTrace(self.completions)

    @property
    def duration_s(self) -> float:
        """From the first due time to the last token."""
        ends = [row.finish for row in self.rows if row.finish is not None]
        return max(ends, default=math.nan) - min(row.due for row in self.rows)

    @property
    def output_tokens_per_s(self) -> float:
        """Tokens of all answers, also of those that failed later, by the run's duration."""
        return sum(row.num_tokens for row in self.rows) / self.duration_s

    def latencies(self) -> dict[str, np.ndarray]:
        """Seconds by name. TTFT and e2e: from due, a value for each request; TPOT: for those with
        two tokens or more. Infinite for a request that was not served. ITL: every time from a token
        to the next, of served answers."""
        served = [row for row in self.rows if row.outcome == "served"]
        lost = [math.inf] * (len(self.rows) - len(served))
        several = [row for row in served if row.num_tokens > 1]
        gaps = [np.diff(row.token_times) for row in served]
        return {
            "TTFT": np.array([row.first_token - row.due for row in served] + lost),
            "TPOT": np.array(
                [(r.finish - r.first_token) / (r.num_tokens - 1) for r in several] + lost
            ),
            "ITL": np.concatenate(gaps) if gaps else np.array([]),
            "e2e": np.array([row.finish - row.due for row in served] + lost),
        }

    def attainment(self, cut: float = 0.0) -> Attainment:
        """How many requests met the SLO; failures missed it. cut: as in `mb.slo.attainment`."""
        if self.slo is None:
            raise ValueError("goodput needs limits; give slo=mb.SLO(ttft=1, tpot=0.05), in seconds")
        return attainment(self.completions, self.slo, cut)

    @property
    def warnings(self) -> list[str]:
        """What makes these numbers doubtful, a sentence each."""
        return [*self.client.warnings(self.rows), *self._short_answers(), *self._other_prompts()]

    def _short_answers(self) -> list[str]:
        pairs = zip(self.rows, self.requests, strict=True)
        fixed = [(row, r) for row, r in pairs if r.ignore_eos and row.outcome == "served"]
        short = sum(row.num_tokens < request.max_tokens for row, request in fixed)
        if not short:
            return []
        return [
            f"{short:,} of {len(fixed):,} answers ended before the requested length: the server "
            "does not support ignore_eos, or does not count the end token; compare tokens per "
            "second, not requests"
        ]

    def _other_prompts(self) -> list[str]:
        asked = counted = 0
        for row, request in zip(self.rows, self.requests, strict=True):
            seen = row.answer.num_prompt_tokens if row.answer else None
            if seen is not None and not isinstance(request.prompt, str):
                asked, counted = asked + len(request.prompt), counted + seen
        if abs(counted - asked) <= NEAR * asked:
            return []
        return [f"the server counts {counted:,} prompt tokens; {asked:,} were sent"]

    def __str__(self) -> str:
        counts = ", ".join(f"{self.count(o):,} {o}" for o in ("served", "failed", "cancelled"))
        lines = [
            f"{self.model} at {self.url}",
            f"{len(self.rows):,} requests in {self.duration_s:.1f} s: {counts}",
            f"{self.count('served') / self.duration_s:.3g} requests/s, "
            f"{self.output_tokens_per_s:,.0f} output tokens/s",
            "",
            f"{'':6}" + "".join(f"{f'p{p}':>11}" for p in PERCENTILES) + f"{'max':>11}",
        ]
        for name, values in self.latencies().items():
            cells = [_cell(values, p) for p in PERCENTILES] + [_seconds(max(values, default=None))]
            lines.append(f"{name:6}" + "".join(f"{cell:>11}" for cell in cells))
        lines += [
            "",
            "TTFT and e2e count from when a request was due; a failed request counts as infinite.",
            "ITL is only of served answers. – means that fewer than 10 requests are beyond it.",
        ]
        waited = [r.sent - r.ready for r in self.rows if r.sent is not None and r.ready is not None]
        if max(waited, default=0) > 0.01:
            lines.append(f"{sum(w > 0.01 for w in waited):,} requests waited for a free connection,"
                         f" up to {max(waited):.2f} s; their TTFT includes this.")  # fmt: skip
        if self.slo is not None:
            none = f"0 requests/s: none of {len(self.rows):,} was served"
            lines.append(f"goodput: {self.attainment() if self.count('served') else none}")
        counted = Counter(row.answer.counted for row in self.rows if row.answer and row.num_tokens)
        lines.append("tokens counted by " + ", ".join(f"{k} ({n:,})" for k, n in counted.items()))
        lines.append(f"client: {self.client.cpu_share:.0%} of one core, event loop at most "
                     f"{1e3 * self.client.lag_s:.0f} ms late (p99)")  # fmt: skip
        errors = Counter(row.error for row in self.rows if row.error)
        lines += [f"{number:,} × {error}" for error, number in errors.most_common(5)]
        return "\n".join([*lines, *(f"Warning: {sentence}." for sentence in self.warnings)])

    def save(self, path: str | os.PathLike) -> None:
        """Write one line of JSON for each request, in the order they were given."""
        with Path(path).open("w", encoding="utf-8") as file:
            for row, request in zip(self.rows, self.requests, strict=True):
                file.write(json.dumps(_line(row, request), ensure_ascii=False) + "\n")


def _line(row: Row, request: Request) -> dict[str, object]:
    answer = row.answer
    line = {name: getattr(row, name) for name in ("due", "ready", "sent", "outcome", "error")}
    return {"request_id": request.request_id, **line} | {
        "max_tokens": request.max_tokens,
        "num_prompt_tokens": answer.num_prompt_tokens if answer else None,
        "num_tokens": row.num_tokens,
        "counted_by": answer.counted if answer else "",
        "finish_reason": answer.finish_reason if answer else None,
        "token_times": [round(time, 6) for time in row.token_times],
        "text": answer.text if answer else "",
    }


def _cell(values: Sequence[float], q: float) -> str:
    try:
        return _seconds(percentile(values, q))
    except ValueError:  # too few
        return "–"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:,.1f} s" if value >= 10 else f"{1e3 * value:,.1f} ms"
