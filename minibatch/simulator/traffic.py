"""Traffic as columns: when requests arrive, and how many tokens each has. No prompts.

A million prompts as lists of ids would be gigabytes; three columns are 24 MB. Lengths are drawn
from quantiles of public traces, since a fitted lognormal misses their tails.
"""

from __future__ import annotations

import csv
import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import numpy as np

from ..core.request import Request
from ..engine.argument_checks import as_requests, check_request

TOKEN = 0  # the token that every prompt is made of, where a request must have one


@dataclass(frozen=True, eq=False)
class Traffic:
    """One row for each request, in order of arrival.

    arrival: float64 [n], seconds, ascending. prompt, output: int64 [n], tokens of the prompt and of
    the answer. Raises what `Request` raises for a value out of range, and ValueError for arrivals
    out of order.
    """

    arrival: np.ndarray
    prompt: np.ndarray
    output: np.ndarray

    def __post_init__(self) -> None:
        for name, kind in (("arrival", np.float64), ("prompt", np.int64), ("output", np.int64)):
            column = np.asarray(getattr(self, name))
            if kind is np.int64 and column.size and column.dtype.kind not in "iu":
                raise TypeError(f"{name} has {column.dtype} values; they must be integers")
            object.__setattr__(self, name, np.ascontiguousarray(column, dtype=kind))
        shapes = self.arrival.shape, self.prompt.shape, self.output.shape
        if self.arrival.ndim != 1 or len(set(shapes)) > 1:
            raise ValueError(f"columns of shapes {shapes}; give three of the same length")
        bad = (self.prompt < 1) | (self.output < 1) | ~np.isfinite(self.arrival)
        for i in np.flatnonzero(bad | (self.arrival < 0))[:1]:
            self._request(i)  # it raises, and says what is wrong
        for i in np.flatnonzero(np.diff(self.arrival) < 0)[:1]:
            raise ValueError(
                f"request '{i + 1}' arrives at {self.arrival[i + 1]} s, the one before it at "
                f"{self.arrival[i]} s; sort them by arrival"
            )

    def __len__(self) -> int:
        return len(self.arrival)

    def __repr__(self) -> str:
        if not len(self):
            return "Traffic(0 requests)"
        tokens = f"{self.prompt.mean():,.0f} + {self.output.mean():,.0f} tokens each on average"
        return f"Traffic({len(self):,} requests in {np.ptp(self.arrival):,.1f} s, {tokens})"

    @classmethod
    def of(cls, requests: Iterable[Request]) -> Traffic:
        """The columns of these requests, sorted by arrival; None arrives at 0. Prompts must be
        lists of token ids; `output` is `max_tokens`."""
        requests = by_arrival(requests)
        return cls(
            np.array([r.arrival_time or 0.0 for r in requests], dtype=np.float64),
            np.array([len(r.prompt) for r in requests], dtype=np.int64),
            np.array([r.max_tokens for r in requests], dtype=np.int64),
        )

    def requests(self, vocab_size: int | None = None, seed: int = 0) -> list[Request]:
        """A request for each row, named "0", "1", …, for a model with this many token ids: its
        prompt is drawn at random. None repeats one token."""
        if vocab_size is None:
            return [self._request(i) for i in range(len(self))]
        rng = np.random.default_rng(seed)
        prompts = (rng.integers(0, vocab_size, n).tolist() for n in self.prompt)
        return [self._request(i, prompt) for i, prompt in enumerate(prompts)]

    def _request(self, i: int, prompt: list[int] | None = None) -> Request:
        return Request(
            [TOKEN] * int(self.prompt[i]) if prompt is None else prompt,
            max_tokens=int(self.output[i]),
            ignore_eos=True,
            arrival_time=float(self.arrival[i]),
            request_id=str(i),
        )


def by_arrival(requests: Iterable[Request]) -> list[Request]:
    """The same requests, the earliest first; those of one time in the order given. Raises
    ValueError for a prompt of text, whose number of tokens is not known here."""
    requests = list(as_requests(requests))
    for request in requests:
        check_request(request)
        if isinstance(request.prompt, str):
            raise ValueError(
                f"request {request.request_id!r} has a text; give prompts as lists of token ids, "
                "such as model.encode(text)"
            )
    return sorted(requests, key=lambda request: request.arrival_time or 0.0)


@dataclass(frozen=True)
class Lengths:
    """Token counts of prompts and answers, as quantiles of a trace; both are drawn independently.

    shares: the quantiles' levels, ascending. prompt, output: tokens at these levels. Between two
    levels a length is interpolated. Below the first level and above the last it is that level's,
    so the longest tail of the trace is cut. source: the origin of the numbers. gap_cv: of the gaps
    between the trace's arrivals, standard deviation divided by mean; 1 is a Poisson process.
    """

    name: str
    shares: tuple[float, ...]
    prompt: tuple[float, ...]
    output: tuple[float, ...]
    source: str
    gap_cv: float = 1.0

    @classmethod
    def equal(cls, prompt: int, output: int) -> Lengths:
        """The same two lengths for every request."""
        return cls(f"{prompt} + {output}", (0.5,), (prompt,), (output,), "all equal")

    def scaled(self, factor: float) -> Lengths:
        """All lengths multiplied by this factor, for a smaller model or a smaller machine."""
        if not (math.isfinite(factor) and factor > 0):
            raise ValueError(f"factor is {factor}; give a number above 0")
        prompt, output = (tuple(factor * n for n in some) for some in (self.prompt, self.output))
        return replace(self, name=f"{self.name} × {factor:g}", prompt=prompt, output=output)

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Prompt and answer lengths of `n` requests: int64 [n] each, at least 1."""
        columns = (
            np.interp(rng.random(n), self.shares, some) for some in (self.prompt, self.output)
        )
        prompt, output = (np.maximum(1, np.rint(column)).astype(np.int64) for column in columns)
        return prompt, output


_LEVELS = (0.10, 0.25, 0.50, 0.75, 0.90, 0.99)
_AZURE = "Azure Public Dataset, LLM inference trace 2023, {} (CC-BY 4.0)"
AZURE_CONVERSATION = Lengths(
    "Azure conversation 2023",
    _LEVELS,
    (207, 396, 1020, 1189, 2735, 4142),
    (54, 85, 129, 395, 424, 601),
    _AZURE.format("conversation: 19,366 requests in 58 minutes"),
    gap_cv=1.09,
)
AZURE_CODE = Lengths(
    "Azure code 2023",
    _LEVELS,
    (147, 578, 1469, 2745, 5194, 7436),
    (7, 9, 13, 24, 55, 252),
    _AZURE.format("code: 8,819 requests in 57 minutes"),
    gap_cv=13.0,
)


def poisson(rate: float, n: int, lengths: Lengths = AZURE_CONVERSATION, seed: int = 0) -> Traffic:
    """`n` requests that arrive independently of one another, `rate` a second on average."""
    return gamma(rate, n, 1.0, lengths, seed)


def gamma(
    rate: float,
    n: int,
    cv: float | None = None,
    lengths: Lengths = AZURE_CONVERSATION,
    seed: int = 0,
) -> Traffic:
    """`n` requests, `rate` a second on average, in bursts if `cv` is above 1.

    cv: coefficient of variation of the gaps: their standard deviation divided by their mean. 1 is a
    Poisson process, 0 makes all gaps equal, None is that of the lengths' trace.
    """
    _check_positive("rate", rate)
    cv = lengths.gap_cv if cv is None else cv
    if not (math.isfinite(cv) and cv >= 0):
        raise ValueError(f"cv is {cv}; give 0 or more")
    rng = np.random.default_rng(seed)
    gaps = rng.gamma(cv**-2, cv**2 / rate, n) if cv else np.full(n, 1 / rate)
    return Traffic(gaps.cumsum(), *lengths.draw(n, rng))


def ramp(
    first_rate: float,
    last_rate: float,
    n: int,
    lengths: Lengths = AZURE_CONVERSATION,
    seed: int = 0,
) -> Traffic:
    """`n` requests, whose rate changes evenly from the first request to the last."""
    _check_positive("first_rate", first_rate)
    _check_positive("last_rate", last_rate)
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1.0, n) / np.linspace(first_rate, last_rate, n)
    return Traffic(gaps.cumsum(), *lengths.draw(n, rng))


def all_at_once(n: int, lengths: Lengths = AZURE_CONVERSATION, seed: int = 0) -> Traffic:
    """`n` requests that all arrive at 0."""
    return Traffic(np.zeros(n), *lengths.draw(n, np.random.default_rng(seed)))


def from_csv(path: str | os.PathLike) -> Traffic:
    """A trace with the columns of Azure's: TIMESTAMP, ContextTokens, GeneratedTokens. The first
    request arrives at 0."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        rows = [
            (datetime.fromisoformat(r["TIMESTAMP"]), r["ContextTokens"], r["GeneratedTokens"])
            for r in csv.DictReader(file)
        ]
    first = min((row[0] for row in rows), default=None)
    return _sorted(((t - first).total_seconds(), int(p), int(o)) for t, p, o in rows)


def from_jsonl(path: str | os.PathLike) -> Traffic:
    """A trace with Mooncake's fields, one JSON object a line: timestamp (milliseconds),
    input_length, output_length."""
    with Path(path).open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file if line.strip()]
    return _sorted((r["timestamp"] / 1000, r["input_length"], r["output_length"]) for r in rows)


def _sorted(rows: Iterable[tuple[float, int, int]]) -> Traffic:
    rows = sorted(rows, key=lambda row: row[0])
    arrival, prompt, output = zip(*rows, strict=True) if rows else ((), (), ())
    return Traffic(np.array(arrival, float), np.array(prompt, int), np.array(output, int))


def _check_positive(name: str, rate: float) -> None:
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"{name} is {rate}; give requests per second, above 0")
