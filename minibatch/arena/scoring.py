"""From what became of each request to one number. SCORE.md gives the reasons.

    value of a request   1 in time · 0.25 refused at once · 0 late · -0.5 never, or ten times late
    points of a match    max(0, Σ value) / requests × min(1, Jain / 0.9)
    score of a match     points / points of the oracle
    score                the mean over matches

It reads token times and refusals, which the judge wrote down itself, and nothing else.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from .match import Fate, Outcome

AT_ONCE_S = 0.3
IN_TIME, REFUSED, LATE, NEVER = 1.0, 0.25, 0.0, -0.5
FAIR = 0.9
SAME_TIME = 1e-9


@dataclass(frozen=True, slots=True)
class Value:
    """What one request is worth. reason: "in time", "refused at once", "refused late", "refused too
    often", "late", "ten times late" or "unfinished"."""

    request_id: str
    client: str
    kind: str
    value: float
    reason: str


@dataclass(frozen=True, slots=True)
class Mark:
    """What the oracle reached in a match: its points, and how many requests it refused."""

    points: float
    num_refused: int


@dataclass(frozen=True)
class MatchScore:
    """One match: its key's parts, each request's value, Jain's index over clients, points, and the
    score: points / the oracle's."""

    mix: str
    load: float
    seed: int | str
    values: tuple[Value, ...]
    jain: float
    points: float
    score: float
    error: str = ""


@dataclass(frozen=True)
class Score:
    """Of several matches. total: the mean of their scores; 1 is what the oracle reaches."""

    matches: tuple[MatchScore, ...]

    @property
    def total(self) -> float:
        """The score."""
        return math.fsum(m.score for m in self.matches) / len(self.matches)

    @property
    def by_load(self) -> dict[float, float]:
        """The mean at each load."""
        return self._means(lambda m: m.load)

    @property
    def by_mix(self) -> dict[str, float]:
        """The mean of each mix."""
        return self._means(lambda m: m.mix)

    @property
    def by_seed(self) -> dict[int | str, float]:
        """The mean of each seed."""
        return self._means(lambda m: m.seed)

    @property
    def values(self) -> list[Value]:
        """Of every request of every match."""
        return [value for match in self.matches for value in match.values]

    @property
    def reasons(self) -> dict[str, int]:
        """How many requests ended so."""
        return dict(Counter(value.reason for value in self.values).most_common())

    @property
    def errors(self) -> dict[str, int]:
        """Why the policy was stopped, and in how many matches."""
        return dict(Counter(m.error for m in self.matches if m.error).most_common())

    def _means(self, key: Callable[[MatchScore], object]) -> dict:
        groups = defaultdict(list)
        for match in self.matches:
            groups[key(match)].append(match.score)
        return {name: math.fsum(some) / len(some) for name, some in groups.items()}


def score(outcomes: Iterable[Outcome], oracle: Iterable[Outcome] | Mapping[str, Mark]) -> Score:
    """The score of these matches. oracle: its outcomes of the same matches, or its marks by
    `Match.key`. Raises KeyError for a match that the oracle has not played."""
    if not isinstance(oracle, Mapping):
        oracle = {outcome.match.key: mark(outcome) for outcome in oracle}
    return Score(tuple(_scored(outcome, oracle[outcome.match.key]) for outcome in outcomes))


def mark(outcome: Outcome) -> Mark:
    """The oracle's points: each of its own refusals counts."""
    num_refused = sum(fate.ended == "refused" for fate in outcome.fates)
    return Mark(_points(values_of(outcome, num_refused))[0], num_refused)


def _scored(outcome: Outcome, best: Mark) -> MatchScore:
    parts = outcome.match.mix, outcome.match.load, outcome.match.seed
    if outcome.error:
        return MatchScore(*parts, (), 1.0, 0.0, 0.0, outcome.error)
    values = values_of(outcome, best.num_refused)
    points, jain = _points(values)
    result = points / best.points if best.points else 0.0
    return MatchScore(*parts, tuple(values), jain, points, result)


def _points(values: list[Value]) -> tuple[float, float]:
    """Points, and Jain's index of the clients' value per request; below 0 counts as 0. (Jain, Chiu
    & Hawe, 1984)"""
    sums, counts = Counter(), Counter()
    for value in values:
        sums[value.client] += value.value
        counts[value.client] += 1
    shares = [max(0.0, sums[client] / counts[client]) for client in counts]
    squares = math.fsum(x * x for x in shares)
    jain = math.fsum(shares) ** 2 / (len(shares) * squares) if squares else 1.0
    total = math.fsum(value.value for value in values)
    return max(0.0, total) / len(values) * min(1.0, jain / FAIR), jain


def values_of(outcome: Outcome, most_refused: int) -> list[Value]:
    """Of each request, by arrival. most_refused: so many refusals count, the first ones."""
    values, begins = [], [begin for begin, _ in outcome.steps]
    for fate in outcome.fates:
        value, reason = _judged(outcome, fate, begins)
        if reason == "refused at once":
            most_refused -= 1
            if most_refused < 0:
                value, reason = LATE, "refused too often"
        values.append(Value(fate.request_id, fate.client, fate.kind, value, reason))
    return values


def _judged(outcome: Outcome, fate: Fate, begins: list[float]) -> tuple[float, str]:
    slo, times = outcome.match.rules.slo, fate.token_times
    if fate.ended == "refused":
        step = bisect_left(begins, fate.arrival) - 1  # the step in flight when it came
        in_flight_until = outcome.steps[step][1] if step >= 0 else 0.0
        limit = max(fate.arrival + AT_ONCE_S, in_flight_until)
        at_once = fate.ended_at <= limit + SAME_TIME
        return (REFUSED, "refused at once") if at_once else (LATE, "refused late")
    if fate.ended != "stop":
        return NEVER, "unfinished"
    places = range(len(times)) if len(times) == fate.output else (0, fate.output - 1)
    pairs = list(zip(times, places, strict=True))
    if any(time > slo.ten_times(fate.arrival, i) + SAME_TIME for time, i in pairs):
        return NEVER, "ten times late"
    if any(time > slo.due(fate.arrival, i) + SAME_TIME for time, i in pairs):
        return LATE, "late"
    return IN_TIME, "in time"
