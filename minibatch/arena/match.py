"""One match, in this process: the engine, a model that knows the lengths, and the policy.

Before changing this file: what runs here trusts the policy, which could read all of it. The judge
(minibatch/course/arena/) plays the same match with the policy in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..core.clock import VirtualClock
from ..core.plan import StepPlan
from ..core.request import Request, Sequence
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..schedulers import Scheduler
from ..simulator.pretend import PretendModel
from .divisions import StepSeconds
from .traffic import ANSWER, END, FIRST_OF_A_TEXT, MANUALS, Match

PolicyFactory = Callable[[int, int], Scheduler]


class EndingModel(PretendModel):
    """Answers END after as many tokens as `lengths` says, by request id."""

    eos_token_ids = frozenset([END])

    def __init__(self, match: Match) -> None:
        self.lengths = {request.request_id: length for request, length in match.requests}
        self.vocab_size = FIRST_OF_A_TEXT + MANUALS + len(self.lengths)

    def runner(self, pool: object, attention: object) -> EndingRunner:
        return EndingRunner(self.lengths)


class EndingRunner:
    """Runs every plan at once, without computing."""

    def __init__(self, lengths: Mapping[str, int]) -> None:
        self._lengths = lengths

    def run(self, plan: StepPlan) -> list[list[int]]:
        """One token for each row that reaches its sequence's end."""
        return [self._next(row.sequence) if row.reaches_end else [] for row in plan.rows]

    def _next(self, sequence: Sequence) -> list[int]:
        is_last = sequence.num_output_tokens + 1 >= self._lengths[sequence.request_id]
        return [END if is_last else ANSWER]


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one request. prompt, output: tokens; output is what the answer would have.
    ended: "stop", "refused" or "unfinished"; ended_at: when, None if unfinished. token_times: of
    the tokens that came; in a fleet of the first and the last. Seconds on the match's clock."""

    request_id: str
    client: str
    kind: str
    arrival: float
    prompt: int
    output: int
    ended: str
    ended_at: float | None = None
    first_scheduled: float | None = None
    token_times: tuple[float, ...] = ()
    preemptions: int = 0

    @classmethod
    def of(cls, match: Match, request: Request, output: int, **what: object) -> Fate:
        """Of a request of this match; what: the fields from `ended` on."""
        return cls(
            request_id=request.request_id,
            client=request.client,
            kind=match.kind_of(request),
            arrival=request.arrival_time,
            prompt=len(request.prompt),
            output=output,
            **what,
        )


@dataclass(frozen=True)
class Outcome:
    """A match that was played. fates: by arrival. steps: begin and end of each forward pass. error:
    why the policy was stopped, "" if it was not; the match then scores 0. planning_s: CPU seconds
    of the policy; never part of the score. trace: the engine's, where it was asked for.
    """

    match: Match
    fates: tuple[Fate, ...]
    steps: tuple[tuple[float, float], ...] = ()
    error: str = ""
    planning_s: float = field(default=0.0, compare=False)
    trace: Trace | None = field(default=None, compare=False)

    def with_planning(self, seconds: float) -> Outcome:
        """The same, with the policy's processor seconds."""
        return replace(self, planning_s=seconds)


def play_engine(match: Match, policy_factory: PolicyFactory, *, trace: bool = False) -> Outcome:
    """Play a match here, with a policy that is trusted.

    policy_factory(max_batch_size, max_batch_tokens) makes the policy. trace: keep every step's
    record. Raises what the policy raises.
    """
    rules = match.rules
    policy = policy_factory(rules.max_batch_size, rules.max_batch_tokens)
    if policy.max_batch_size > rules.max_batch_size:
        raise ValueError(
            f"max_batch_size is {policy.max_batch_size}; this division's machine computes "
            f"{rules.max_batch_size} rows at most"
        )
    planning = _timed(policy)
    outcome = run(match, policy, trace=trace)
    return outcome.with_planning(sum(planning))


def run(match: Match, policy: Scheduler, *, trace: bool = False) -> Outcome:
    """The match with this policy, to its end. Raises what the policy raises."""
    rules = match.rules
    engine = Engine(
        EndingModel(match),
        policy,
        num_blocks=rules.num_blocks,
        block_size=rules.block_size,
        prefix_caching=True,
        clock=VirtualClock(StepSeconds(rules)),
        trace=Trace(keep=None if trace else 0, names=trace, latencies=False),
    )
    sequences = [engine.sequence(engine.add(request)) for request, _ in match.requests]
    steps: list[tuple[float, float]] = []
    engine.on_step(lambda step: steps.append((step.start_time, step.end_time)))
    end = match.requests[-1][0].arrival_time + rules.end_s
    while engine.has_work and engine.clock.now() < end:
        engine.step()
    fates = tuple(fate(match, *each) for each in zip(sequences, match.requests, strict=True))
    return Outcome(match, fates, tuple(steps), trace=engine.trace if trace else None)


def fate(match: Match, sequence: Sequence, asked: tuple[Request, int]) -> Fate:
    """What became of a sequence."""
    reason = sequence.finish_reason
    return Fate.of(
        match,
        *asked,
        ended=reason if reason in ("stop", "refused") else "unfinished",
        ended_at=sequence.finish_time,
        first_scheduled=sequence.first_scheduled_time,
        token_times=tuple(sequence.token_times),
        preemptions=sequence.num_preemptions,
    )


def _timed(policy: Scheduler) -> list[float]:
    """The CPU seconds of each call of its `plan` from now on."""
    seconds: list[float] = []
    plan = policy.plan

    def timed(now: float) -> StepPlan:
        begin = time.process_time()
        try:
            return plan(now)
        finally:
            seconds.append(time.process_time() - begin)

    policy.plan = timed
    return seconds
