"""`mb.simulate`: what a policy does to some traffic, without a model, as columns.

The answer has one row for each request, in order of arrival, and no records of steps. `why` says
which path produced it.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
from tqdm.auto import tqdm

from ..core.clock import VirtualClock
from ..core.completion import Completion
from ..core.plan import StepPlan
from ..core.records import StepRecord
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..schedulers import Scheduler
from .fast import FastSimulator
from .fast_path import reason_for_engine
from .pretend import TOKEN, PretendModel
from .traffic import Traffic, by_arrival

STEPS_BETWEEN_REPORTS = 100_000
FAST = "The fast simulator ran: it knows the rules of {}, which is not edited."
StepTime = float | Callable[[StepPlan], float]
Progress = Callable[[int, int], object]


@dataclass(frozen=True, eq=False)
class Simulated:
    """The outcome of each request; times are float64 [n], seconds, from 0 on.

    arrival, first_scheduled, first_token, finish: NaN where this did not happen: the request was
    refused, or ended at its deadline. prompt, output: tokens of the request. preemptions: how often
    each was preempted. num_steps: forward passes. path: "fast" or "engine"; why: why this one.
    """

    arrival: np.ndarray
    prompt: np.ndarray
    output: np.ndarray
    first_scheduled: np.ndarray
    first_token: np.ndarray
    finish: np.ndarray
    preemptions: np.ndarray
    num_steps: int
    path: str
    why: str

    def __len__(self) -> int:
        return len(self.arrival)

    def __repr__(self) -> str:
        return f"Simulated({len(self):,} requests, {self.num_steps:,} steps, path={self.path!r})"

    @property
    def ttft(self) -> np.ndarray:
        """Seconds from arrival to the first token."""
        return self.first_token - self.arrival

    @property
    def tpot(self) -> np.ndarray:
        """Seconds for each token after the first, on average; NaN for answers of one token."""
        gaps = np.where(self.output > 1, self.output - 1, np.nan)
        return (self.e2e - self.ttft) / gaps

    @property
    def e2e(self) -> np.ndarray:
        """Seconds from arrival to the last token."""
        return self.finish - self.arrival

    @property
    def makespan_s(self) -> float:
        """Seconds from the first arrival to the last token of all; NaN if no request finished."""
        done = self.finish[~np.isnan(self.finish)]
        return float(done.max() - self.arrival[0]) if len(done) else float("nan")


def simulate(
    policy: Scheduler,
    requests: Traffic | Iterable[Request],
    step_time: StepTime,
    *,
    num_blocks: int | None = None,
    block_size: int = 16,
    progress: bool | Progress | None = None,
) -> Simulated:
    """Serve the traffic under the policy in virtual time. The policy itself stays unused.

    An unedited Continuous, Static or Sequential runs in O(1) for a step, if the step time is a
    number, a `CostModel` or a preset. Otherwise the engine runs every step. Both give the same.

    step_time: seconds of every step, or a function of its plan, as for `VirtualClock`. num_blocks:
    KV blocks in the pool; None is enough for any batch. progress: True shows a bar; a function is
    called with the number of requests that have ended, and of all. Of a request only its lengths,
    arrival time, deadline, priority and client count; its answer has max_tokens tokens. Raises what
    the engine raises.
    """
    traffic, requests = columns_and_requests(requests)
    why = reason_for_engine(policy, requests, step_time)
    pool = {"num_blocks": num_blocks, "block_size": block_size}
    with tqdm(total=len(traffic), unit="request", disable=progress is not True) as bar:
        tell = _teller(bar, progress)
        if why is None:
            return _run_fast(policy, traffic, requests, step_time, pool, tell)
        return _run_engine(policy, traffic, requests, step_time, pool, tell, why)


def columns_and_requests(
    requests: Traffic | Iterable[Request],
) -> tuple[Traffic, list[Request] | None]:
    """The columns, and the requests if there are any, in the same order."""
    if isinstance(requests, Traffic):
        return requests, None
    requests = by_arrival(requests)
    return Traffic.of(requests), requests


def _teller(bar: tqdm, progress: bool | Progress | None) -> Progress:
    def tell(done: int, total: int) -> None:
        bar.update(done - bar.n)
        if callable(progress):
            progress(done, total)

    return tell


def _run_fast(
    policy: Scheduler,
    traffic: Traffic,
    requests: list[Request] | None,
    step_time: StepTime,
    pool: dict[str, int | None],
    tell: Progress,
) -> Simulated:
    """The same rules in O(1) for a step."""

    def name(i: int) -> str:
        return str(i) if requests is None else requests[i].request_id or f"request-{i}"

    simulator = FastSimulator(policy, step_time, **pool)
    simulator.add_all(traffic, name)
    now = simulator.snapshot()
    while now.num_finished < len(traffic):
        now = simulator.run_until(most_steps=STEPS_BETWEEN_REPORTS)
        tell(now.num_finished, len(traffic))
    why = FAST.format(type(policy).__name__)
    return Simulated(**simulator.columns(), num_steps=now.num_steps, path="fast", why=why)


def _run_engine(
    policy: Scheduler,
    traffic: Traffic,
    requests: list[Request] | None,
    step_time: StepTime,
    pool: dict[str, int | None],
    tell: Progress,
    why: str,
) -> Simulated:
    """Every step by the real engine and a copy of the policy, on a pretend model."""
    if isinstance(policy, Scheduler) and policy.pool is None:
        policy = copy.deepcopy(policy)
    model = PretendModel()
    model.max_model_len = max(model.max_model_len, longest(traffic))
    engine = Engine(model, policy, clock=VirtualClock(step_time), trace=Trace(keep=0), **pool)
    preemptions, num_ended = Counter(), 0

    def after(step: StepRecord) -> None:
        nonlocal num_ended
        num_ended += len(step.finished)
        preemptions.update(step.preempted)
        tell(num_ended, len(traffic))

    engine.on_step(after)
    completions = engine.run(traffic.requests() if requests is None else _plain(requests))
    tell(len(traffic), len(traffic))
    return Simulated(
        arrival=traffic.arrival,
        prompt=traffic.prompt,
        output=traffic.output,
        first_scheduled=_times(c.first_scheduled_time for c in completions),
        first_token=_times(c.first_token_time for c in completions),
        finish=_times(map(_finish_time, completions)),
        preemptions=np.array([preemptions[c.request_id] for c in completions], dtype=np.int64),
        num_steps=engine.trace.num_steps,
        path="engine",
        why=why,
    )


def _plain(requests: list[Request]) -> list[Request]:
    """The same requests with prompts and answers that a pretend model has."""
    return [replace(r, prompt=[TOKEN] * len(r.prompt), stop_token_ids=()) for r in requests]


def longest(traffic: Traffic) -> int:
    """Tokens of the longest request, prompt and answer."""
    return int((traffic.prompt + traffic.output).max(initial=1))


def _finish_time(completion: Completion) -> float | None:
    return completion.finish_time if completion.finish_reason == "length" else None


def _times(times: Iterable[float | None]) -> np.ndarray:
    return np.array([np.nan if time is None else time for time in times], dtype=np.float64)
