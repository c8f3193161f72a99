"""A few matches on the real model: does the order of the policies stay?

The simulator's scores are compared with scores of real runs of the same requests, scaled down so
that Wayfarer serves them in seconds. The clock counts processor seconds of this process, so other
programs disturb it less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from minibatch import Engine, Request, arena, load_model, measure
from minibatch.arena.match import Fate, Outcome, PolicyFactory
from minibatch.arena.scoring import values_of
from minibatch.arena.traffic import Match
from minibatch.schedulers import Scheduler

PROMPT, ANSWER = 8, 4  # prompts and answers are so many times shorter
BLOCKS = 80  # of 16 tokens: as scarce as in the arena
LOAD, SEED = 1.3, 1
OWN = "yours"


@dataclass(frozen=True)
class Confirmed:
    """By policy: the points of the simulated match, and of the real one, 0 to 1."""

    mix: str
    simulated: dict[str, float]
    real: dict[str, float]

    @property
    def rank_correlation(self) -> float:
        """Spearman's, of the two orders; 1 is the same order, -1 the opposite one."""
        first, second = _ranks(self.simulated), _ranks(self.real)
        mean = (len(first) + 1) / 2
        pairs = [(first[name] - mean, second[name] - mean) for name in first]
        spread = (sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs)) ** 0.5
        return sum(a * b for a, b in pairs) / spread if spread else 1.0

    def __str__(self) -> str:
        lines = [f"{self.mix}, load {LOAD}, seed {SEED}", "simulated   real"]
        for name in sorted(self.simulated, key=lambda name: -self.simulated[name]):
            lines.append(f"{self.simulated[name]:9.3f}{self.real[name]:7.3f}   {name}")
        return "\n".join([*lines, f"rank correlation {self.rank_correlation:.2f}"])


def confirm(policy_factory: PolicyFactory, mix: str = "day") -> Confirmed:
    """Play one match with this policy and the shipped ones, simulated and on Wayfarer. A minute.

    Points are those of SCORE.md before they are divided by the oracle's, which plays no real match.
    Arrivals and the promise of the real match are stretched so that its load is the same here.
    """
    match = Match("engine", mix, LOAD, SEED)
    factories = {OWN: policy_factory, **arena.BASELINES}
    simulated, real = {}, {}
    bench = _Bench(match)
    for name, factory in factories.items():
        simulated[name] = _points(arena.play(match, factory))
        real[name] = _points(bench.play(factory))
    return Confirmed(mix, simulated, real)


class _Bench:
    """The real model, the scaled requests, and the scaled promise."""

    def __init__(self, match: Match) -> None:
        self.match, self.model = match, load_model("wayfarer")
        self.clock = measure.clock(self.model.device)
        rules = match.rules
        sizes = rules.max_batch_size, rules.max_batch_tokens // PROMPT
        self.sizes = sizes[0], max(sizes)  # fewer tokens than rows would stall a decode
        shape = [
            (max(2, len(request.prompt) // PROMPT), max(1, length // ANSWER), request)
            for request, length in match.requests
        ]
        vocabulary = self.model.vocab_size
        self.requests = [
            Request(
                [(request.prompt[0] * 7 + i * 13) % vocabulary for i in range(prompt)],
                max_tokens=answer,
                ignore_eos=True,
                request_id=request.request_id,
                client=request.client,
                arrival_time=0.0,
            )
            for prompt, answer, request in shape
        ]
        self._run(arena.BASELINES[arena.FCFS])  # the first run compiles
        begin = self.clock.now()
        self._run(arena.BASELINES[arena.FCFS])  # all at once: how long this machine needs
        span = (self.clock.now() - begin) / LOAD
        self.stretch = span / match.requests[-1][0].arrival_time

    def play(self, factory: PolicyFactory) -> Outcome:
        """The match in real time: arrivals and the promise are stretched to this machine."""
        due = [request.arrival_time * self.stretch for request, _ in self.match.requests]
        requests = [replace(r, arrival_time=t) for r, t in zip(self.requests, due, strict=True)]
        fates = []
        completions = self._run(factory, requests)
        more = (ANSWER - 1) * self.match.rules.slo.tpot  # a token stands for ANSWER tokens
        for c, (request, _) in zip(completions, self.match.requests, strict=True):
            times = tuple(
                (time - c.arrival_time) / self.stretch - i * more
                for i, time in enumerate(c.token_times)
            )
            ended, ended_at = ("stop", times[-1]) if c.was_served else ("refused", 0.0)
            fate = Fate.of(
                self.match,
                replace(request, arrival_time=0.0),
                max(1, len(times)),
                ended=ended,
                ended_at=ended_at,
                token_times=times,
            )
            fates.append(fate)
        return Outcome(self.match, tuple(fates))

    def _run(self, factory: PolicyFactory, requests: list[Request] | None = None) -> list:
        policy: Scheduler = factory(*self.sizes)
        engine = Engine(
            self.model, policy, num_blocks=BLOCKS, clock=self.clock, prefix_caching=True
        )
        return engine.run(self.requests if requests is None else requests)


def _points(outcome: Outcome) -> float:
    values = values_of(outcome, most_refused=len(outcome.fates))
    return max(0.0, sum(value.value for value in values)) / len(values)


def _ranks(scores: dict[str, float]) -> dict[str, float]:
    """From 1; equal scores share the mean of their ranks."""
    order = sorted(scores.values(), reverse=True)
    return {
        name: sum(i + 1 for i, other in enumerate(order) if other == total) / order.count(total)
        for name, total in scores.items()
    }
