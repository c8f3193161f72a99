"""A real run, the simulation of it, and the same real run again: their differences, side by side.

The difference of two real runs is the least error that a simulation can have here. A simulation's
error has a meaning only beside it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import mean, median

from ..core.clock import Clock, ProcessClock, VirtualClock
from ..core.completion import Completion
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..memory.blocks import BlockPool
from ..model.load import Model
from ..schedulers import Scheduler
from ..simulator.cost import CostModel
from ..simulator.pretend import TOKEN, PretendModel
from .stopwatch import one_thread

Seconds = tuple[float | None, ...]  # one for each request; None where it has none


@dataclass(frozen=True)
class RunTimes:
    """The times of one run, in seconds, its requests in the order given.

    arrival: from the first arrival on. makespan: from the first arrival to the last token.
    busy: share of the makespan that is in steps; the rest waited for arrivals.
    """

    arrival: Seconds
    ttft: Seconds
    tpot: Seconds
    finish: Seconds
    makespan: float
    busy: float

    @classmethod
    def of(cls, completions: Sequence[Completion], trace: Trace) -> RunTimes:
        """The times of a run whose requests were all served. trace: holds its steps only."""
        begin = min(c.arrival_time for c in completions)
        makespan = max(c.finish_time for c in completions) - begin
        return cls(
            arrival=tuple(c.arrival_time - begin for c in completions),
            ttft=tuple(c.ttft for c in completions),
            tpot=tuple(c.tpot for c in completions),
            finish=tuple(c.finish_time - begin for c in completions),
            makespan=makespan,
            busy=sum(step.end_time - step.start_time for step in trace.steps) / makespan,
        )


@dataclass(frozen=True)
class Error:
    """One number of a simulation beside the same number of real runs, as shares of 1.

    load: of the runs. metric: "makespan", "TTFT" or "TPOT". simulated: the difference of the
    simulation from a real run. real_again: of one real run from another. For makespan: with its
    sign; for the others: the median over requests, without sign. Means over the real runs.
    """

    load: str
    metric: str
    simulated: float
    real_again: float


@dataclass(frozen=True)
class HeldOut:
    """A workload that the fit has not seen: two or more real runs, and one simulated."""

    real: tuple[RunTimes, ...]
    simulated: RunTimes

    @property
    def busy(self) -> float:
        """Share of the real runs that is in steps."""
        return mean(run.busy for run in self.real)

    @property
    def load(self) -> str:
        """ "all at once", or "62% busy"."""
        return "all at once" if not any(self.real[0].arrival) else f"{self.busy:.0%} busy"

    @property
    def errors(self) -> list[Error]:
        """Of makespan, TTFT and TPOT."""
        return [
            Error(self.load, "makespan", *self._compare(_makespan, with_sign=True)),
            Error(self.load, "TTFT", *self._compare(lambda a, b: _each(a.ttft, b.ttft))),
            Error(self.load, "TPOT", *self._compare(lambda a, b: _each(a.tpot, b.tpot))),
        ]

    @property
    def words(self) -> str:
        """ "62% busy: makespan +4% (3%), TTFT 9% (6%), TPOT 7% (5%)": errors, and their floors."""
        each = (f"{e.metric} {_signed(e, 0)} ({e.real_again:.0%})" for e in self.errors)
        return f"{self.load}: {', '.join(each)}"

    def _compare(
        self, difference: Callable[[RunTimes, RunTimes], float], with_sign: bool = False
    ) -> tuple[float, float]:
        """Mean difference of the simulation from a real run, and of a real run from another."""
        size = float if with_sign else abs
        simulated = mean(size(difference(self.simulated, run)) for run in self.real)
        return simulated, mean(abs(difference(a, b)) for a, b in combinations(self.real, 2))


def compare(
    model: Model,
    policy: Scheduler,
    requests: Sequence[Request],
    cost_model: CostModel,
    *,
    clock: Clock | None = None,
) -> HeldOut:
    """A workload for real, in simulation, and for real again.

    policy: a new one; the simulation uses a copy. The simulation is given the lengths of the real
    answers. clock: of the real engine; None is the wall clock, a `ProcessClock` sets one thread.
    """
    pretend = copy.deepcopy(policy)
    with one_thread() if isinstance(clock, ProcessClock) else nullcontext():
        engine = Engine(model, policy, clock=clock)
        first = engine.run(requests)
        real = RunTimes.of(first, engine.trace)
        known = [
            replace(r, prompt=c.prompt_token_ids, max_tokens=len(c.token_ids))
            for r, c in zip(requests, first, strict=True)
        ]
        simulated = simulate(pretend, known, cost_model, engine.pool)
        return HeldOut((real, run(engine, requests)), simulated)


def run(engine: Engine, requests: Sequence[Request]) -> RunTimes:
    """The times of one run, from an empty engine on."""
    engine.reset()
    return RunTimes.of(engine.run(requests), engine.trace)


def simulate(
    policy: Scheduler, requests: Sequence[Request], cost_model: CostModel, pool: BlockPool
) -> RunTimes:
    """The times of the same requests on a pretend model. pool: its size is the simulated one's."""
    pretend = [replace(r, prompt=[TOKEN] * len(r.prompt), ignore_eos=True) for r in requests]
    sizes = {"num_blocks": pool.num_blocks, "block_size": pool.block_size}
    engine = Engine(PretendModel(), policy, **sizes, clock=VirtualClock(cost_model))
    return run(engine, pretend)


def note(held_out: Sequence[HeldOut]) -> str:
    """The errors in small print, for the corner of a figure."""
    head = "simulated against real (real against real)"
    return "\n".join([head, *(each.words for each in held_out)])


def table(errors: Sequence[Error]) -> list[tuple[str, str, str, str]]:
    """Load, metric, error, floor: a row of words for each error, and the head."""
    head = ("load", "metric", "simulated against real", "real against real")
    rows = [(e.load, e.metric, _signed(e, 1), f"{e.real_again:.1%}") for e in errors]
    return [head, *rows]


def _signed(error: Error, digits: int) -> str:
    """With a sign for a makespan, except for 0."""
    share = round(error.simulated, digits + 2) + 0.0
    sign = "+" if error.metric == "makespan" and share > 0 else ""
    return f"{sign}{share:.{digits}%}".replace("-", "−")


def _makespan(a: RunTimes, b: RunTimes) -> float:
    return a.makespan / b.makespan - 1


def _each(some: Seconds, others: Seconds) -> float:
    """The median over requests of how far `some` is from `others`, as a share."""
    pairs = [(a, b) for a, b in zip(some, others, strict=True) if a is not None and b]
    return median(abs(a / b - 1) for a, b in pairs) if pairs else 0.0
