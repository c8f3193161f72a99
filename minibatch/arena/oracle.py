"""Policies that know the length of every answer. The best of them in a match is the score's 1.

Nobody else may know it. `Oracle` is shipped so that a score has a scale: it says how much can be
reached at all, so a policy that scores 0.9 has lost little to its ignorance.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ..core.plan import StepPlan
from ..core.request import Sequence
from ..schedulers import Budget, Scheduler
from ..schedulers.orders import Order
from .baselines import ROUTERS
from .match import Outcome
from .play_match import play
from .scoring import Mark, mark
from .traffic import Match

SCORES = Path(__file__).with_name("public_scores.json")
TOKENS_PER_S = (1_500.0, 2_500.0, 4_000.0, math.inf)  # of each oracle; infinity never refuses
WEIGHT = 4  # a token of an answer counts as so many of a prompt: it has a step of its own


class _LeastWork(Order):
    """The fewest tokens left, prompt and answer; a request that is late already comes last."""

    def __init__(self, work: Callable[[Sequence], int], ttft: float) -> None:
        self.work, self.ttft = work, ttft

    def rank(self, sequence: Sequence, scheduler: Scheduler, now: float) -> tuple[bool, int]:
        is_late = not sequence.num_output_tokens and now > sequence.arrival_time + self.ttft
        return is_late, self.work(sequence)


class Oracle(Budget):
    """Least work first. A request is refused on arrival if those before it would make it late.

    lengths: of each answer, by request id. ttft: the promise, seconds. tokens_per_s: how quickly it
    believes that waiting work is done; infinity refuses no request.
    """

    def __init__(
        self,
        max_batch_size: int,
        max_batch_tokens: int,
        lengths: Mapping[str, int],
        ttft: float,
        tokens_per_s: float,
    ) -> None:
        super().__init__(max_batch_size, max_batch_tokens, order=_LeastWork(self.work, ttft))
        self.lengths, self.ttft, self.tokens_per_s = lengths, ttft, tokens_per_s
        self._new: list[Sequence] = []

    def work(self, sequence: Sequence) -> int:
        """Tokens that are still to compute."""
        length = self.lengths[sequence.request_id]
        return sequence.num_uncomputed_tokens + WEIGHT * (length - sequence.num_output_tokens)

    def add(self, sequence: Sequence) -> None:
        super().add(sequence)
        self._new.append(sequence)

    def plan(self, now: float) -> StepPlan:
        for sequence in sorted(self._new, key=self.work, reverse=True):
            if sequence in self.waiting and self.would_be_late(sequence, now):
                self.refuse(sequence)
        self._new.clear()
        return super().plan(now)

    def would_be_late(self, sequence: Sequence, now: float) -> bool:
        """Whether what goes before it takes longer than it can wait."""
        rank = self.order.rank(sequence, self, now)
        ahead = [
            s for s in self.waiting if s is not sequence and self.order.rank(s, self, now) < rank
        ]
        tokens = sum(map(self.work, ahead)) + sequence.num_uncomputed_tokens
        if len(self.running) == self.max_batch_size:
            tokens += min(map(self.work, self.running))
        return now + tokens / self.tokens_per_s > sequence.arrival_time + self.ttft


def played(match: Match) -> list[Outcome]:
    """The match, played by each oracle. In a fleet these are the shipped routers with reports that
    are never old."""
    if match.division == "fleet":
        from .fleet_match import play_router  # numpy

        return [play_router(match, make(), view_age_s=0.0) for make in ROUTERS.values()]
    lengths = {request.request_id: length for request, length in match.requests}
    ttft = match.rules.slo.ttft
    return [
        play(match, lambda size, tokens, s=speed: Oracle(size, tokens, lengths, ttft, s))
        for speed in TOKENS_PER_S
    ]


def best(match: Match) -> Mark:
    """The most points that an oracle reaches in a match, and how many requests it refused there."""
    return max((mark(each) for each in played(match)), key=lambda m: (m.points, -m.num_refused))


def marks(division: str = "engine", matches: Iterable[Match] | None = None) -> dict[str, Mark]:
    """The oracle's mark of each match, by `Match.key`: those of the public seeds are stored, others
    are played now. matches: None is all with public seeds."""
    stored = public_scores()[division]["marks"]
    known = {key: Mark(*numbers) for key, numbers in stored.items()}
    if matches is None:
        return known
    return {m.key: known[m.key] if m.key in known else best(m) for m in matches}


def public_scores() -> dict:
    """By division: the oracle's marks, and the baselines' scores, over the public seeds and for
    each of them. Made by `python -m minibatch.arena.make_scores`."""
    return json.loads(SCORES.read_text(encoding="utf-8"))
