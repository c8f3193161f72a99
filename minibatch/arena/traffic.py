"""The traffic of one match: who asks what, when; and how long each answer will be.

    Match("engine", "day", 0.9, seed=1).requests    # [(Request, tokens of its answer), …]

Arrivals, prompts and lengths come from three random streams of their own. A policy sees the first
two. Nothing of them tells about the third, and no stream is used in two matches.
"""

from __future__ import annotations

import math
import random
from bisect import bisect
from dataclasses import dataclass
from functools import cached_property
from itertools import count

from ..core.request import Request
from .divisions import DIVISIONS, Division

END = 1  # the token that ends an answer; every other token is ANSWER
ANSWER = 0
FIRST_OF_A_TEXT = 2  # prompts are made of these: each text repeats a token of its own
MANUALS = 3  # shared by agents


@dataclass(frozen=True)
class Kind:
    """A kind of request. prompt, answer: tokens at five equally spaced quantiles, from the shortest
    to the longest. manual: tokens in front that all agents of one manual share. clients: how many
    ask so. group: how many come at once."""

    name: str
    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    manual: int = 0
    clients: int = 4
    group: int = 1


CHAT = Kind("chat", (20, 90, 180, 320, 600), (8, 30, 60, 110, 220))
AGENT = Kind("agent", (16, 30, 50, 70, 120), (6, 12, 20, 35, 70), manual=640, clients=3)
DOCUMENT = Kind("document", (900, 1200, 1500, 1900, 2600), (20, 50, 80, 120, 200), clients=2)
BURST = Kind("burst", (20, 60, 120, 200, 300), (8, 25, 45, 80, 160), clients=2, group=8)
GREEDY = Kind("greedy", (300, 500, 700, 900, 1200), (30, 80, 120, 170, 240), clients=1)

MIXES: dict[str, tuple[tuple[Kind, float], ...]] = {  # with the share of the requests
    "day": ((CHAT, 0.55), (AGENT, 0.3), (DOCUMENT, 0.15)),
    "bursts": ((CHAT, 0.4), (AGENT, 0.2), (BURST, 0.4)),
    "greedy": ((CHAT, 0.4), (AGENT, 0.2), (GREEDY, 0.4)),
}


@dataclass(frozen=True)
class Match:
    """division, mix: names. load: share of the capacity. seed: any integer or text."""

    division: str
    mix: str
    load: float
    seed: int | str

    @property
    def rules(self) -> Division:
        """The division's."""
        return DIVISIONS[self.division]

    @property
    def key(self) -> str:
        """Its name in files: "engine day 0.9 1"."""
        return f"{self.division} {self.mix} {self.load} {self.seed}"

    @cached_property
    def requests(self) -> list[tuple[Request, int]]:
        """In order of arrival, each with the tokens of its answer, END included. Every Python makes
        the same: arrivals are rounded to microseconds, since logarithms may differ in a last bit.
        """
        kinds, arrivals = self._stream("kinds"), self._stream("arrivals")
        prompts, lengths = self._stream("prompts"), self._stream("lengths")
        rate = self.load * self.rules.capacity[self.mix]
        texts, time, made = count(FIRST_OF_A_TEXT + MANUALS), 0.0, []
        while len(made) < self.rules.num_requests:
            kind = self._kind(kinds)
            time -= kind.group * math.log(1.0 - arrivals.random()) / rate
            client = f"{kind.name}-{prompts.randrange(kind.clients)}"
            manual = FIRST_OF_A_TEXT + prompts.randrange(MANUALS)
            for _ in range(min(kind.group, self.rules.num_requests - len(made))):
                own = [next(texts)] * _at(kind.prompt, prompts.random())
                request = Request(
                    [manual] * kind.manual + own,
                    max_tokens=self.rules.cap,
                    arrival_time=round(time, 6),
                    request_id=f"{len(made)}",
                    client=client,
                )
                made.append((request, _at(kind.answer, lengths.random())))
        return made

    def kind_of(self, request: Request) -> str:
        """The name of its kind."""
        return request.client.partition("-")[0]

    def _stream(self, what: str) -> random.Random:
        return random.Random(f"{self.key} {what}")

    def _kind(self, stream: random.Random) -> Kind:
        """By the share of requests; a group comes as much more seldom as it is larger."""
        kinds = [kind for kind, _ in MIXES[self.mix]]
        total, sums = 0.0, []
        for kind, share in MIXES[self.mix]:
            total += share / kind.group
            sums.append(total)
        return kinds[min(bisect(sums, stream.random() * total), len(kinds) - 1)]


def matches(division: str, seeds: tuple[int | str, ...] | None = None) -> list[Match]:
    """Every mix at every load, for each seed; None: the public ones."""
    rules = DIVISIONS[division]
    seeds = rules.public_seeds if seeds is None else seeds
    return [Match(division, m, load, s) for s in seeds for m in rules.mixes for load in rules.loads]


def _at(quantiles: tuple[int, ...], share: float) -> int:
    """The number at this share, 0 to 1, of a distribution with these quantiles."""
    place = share * (len(quantiles) - 1)
    i = min(int(place), len(quantiles) - 2)
    return quantiles[i] + int((place - i) * (quantiles[i + 1] - quantiles[i]))
