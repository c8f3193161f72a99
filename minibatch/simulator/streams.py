"""Thirty streams of arrivals instead of one, and the outcome of each under a batching policy.

One stream proves little: another seed may have another winner. So questions about waiting are
answered with many streams. This is quick, because a batch that no request joins or leaves is
decided once, at its departure: one step of the virtual clock stands for all its steps, until its
longest answer ends. Engine and policies are the real ones, and the departures are the same as if
every step were run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean

import numpy as np

from ..core.clock import VirtualClock
from ..core.plan import StepPlan
from ..core.request import Request
from ..engine.engine import Engine
from ..schedulers import Dynamic, Scheduler
from . import workload
from .pretend import PretendModel

STEP_TIME = 0.025  # seconds of every step
CAPACITY = 8 / (max(workload.OUTPUT_LENGTHS) * STEP_TIME)  # agents a second, in full batches of 8


@dataclass(frozen=True)
class Outcome:
    """The outcome of one stream. ttft_s: mean time to first token, in seconds. ttft_p99_s: its 99th
    percentile; of 100 requests, the second largest. machine_s: seconds in which the machine was
    busy, per request."""

    ttft_s: float
    ttft_p99_s: float
    machine_s: float


def poisson(load: float, count: int = 30, n: int = 120) -> list[list[Request]]:
    """`count` streams of `n` agents each, which arrive independently of one another.

    load: arrivals a second, as a share of CAPACITY.
    """
    rate = load * CAPACITY
    return [workload.poisson(_agents(n, seed), rate, seed) for seed in range(count)]


def bursts(
    load: float, size: int = 6, within: float = 0.5, count: int = 30, n: int = 120
) -> list[list[Request]]:
    """The same agents at the same rate, in bursts: `size` of them within `within` seconds."""
    every = size / (load * CAPACITY)
    return [workload.bursts(_agents(n, seed), size, every, within, seed) for seed in range(count)]


def outcomes(
    policy: Callable[[], Scheduler],
    streams: Iterable[Sequence[Request]],
    warm_up: int = 20,
    step_time: Callable[[int], float] = lambda rows: STEP_TIME,
) -> list[Outcome]:
    """The outcome of each stream under a policy that runs a batch to its end, as `Static` does.

    policy: makes a new policy for each stream. warm_up: this many first arrivals are served, but
    left out of the times, because they find an empty machine. step_time: seconds of a step, by its
    number of rows.
    """
    return [_outcome(policy(), stream, warm_up, step_time) for stream in streams]


def by_window(
    traffic: Mapping[str, Sequence[Sequence[Request]]], windows: Iterable[float]
) -> dict[str, dict[float, list[Outcome]]]:
    """The outcomes of the streams of each traffic under `Dynamic(8, max_wait)`, for each window in
    seconds."""
    windows = tuple(windows)
    return {
        name: {window: outcomes(partial(Dynamic, 8, window), streams) for window in windows}
        for name, streams in traffic.items()
    }


def _outcome(
    policy: Scheduler,
    stream: Sequence[Request],
    warm_up: int,
    step_time: Callable[[int], float],
) -> Outcome:
    lengths = {request.request_id: request.max_tokens for request in stream}
    first_steps = {}  # seconds from a request's departure to its first token

    def whole_batch(plan: StepPlan) -> float:
        names = [row.sequence.request_id for row in plan.rows]
        first_steps.update(dict.fromkeys(names, step_time(len(names))))
        return step_time(len(names)) * max(lengths[name] for name in names)

    engine = Engine(PretendModel(), policy, num_blocks=len(stream), clock=VirtualClock(whole_batch))
    done = engine.run(replace(request, prompt=[0], max_tokens=1) for request in stream)
    batches = engine.trace.steps
    waits = [
        c.first_scheduled_time - c.arrival_time + first_steps[c.request_id] for c in done[warm_up:]
    ]
    return Outcome(
        ttft_s=fmean(waits),
        ttft_p99_s=float(np.quantile(waits, 0.99, method="inverted_cdf")),
        machine_s=sum(batch.end_time - batch.start_time for batch in batches) / len(stream),
    )


def _agents(n: int, seed: int) -> list[Request]:
    """Agents with the eight answer lengths, round after round, each round in another order."""
    random = np.random.default_rng([seed, n])
    rounds = range(-(-n // len(workload.NAMES)))
    order = [(i, r) for r in rounds for i in random.permutation(len(workload.NAMES))]
    return [
        Request(
            [0],
            max_tokens=workload.OUTPUT_LENGTHS[i],
            request_id=workload.NAMES[i] + (str(r + 1) if r else ""),
        )
        for i, r in order[:n]
    ]
