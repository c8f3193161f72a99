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
from .pretend import TOKEN, PretendModel
from .traffic import Traffic, by_arrival

Progress = Callable[[int, int], object] | bool | None


@dataclass(frozen=True, eq=False)
class Simulated:
    """What became of each request; times are float64 [n], seconds, from 0 on.

    arrival, first_scheduled, first_token, finish: NaN where it never came to that: the request was
    refused, or ended at its deadline. prompt, output: tokens asked for. preemptions: how often each
    was preempted. num_steps: forward passes. path: "fast" or "engine"; why: why this one.
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
    step_time: float | Callable[[StepPlan], float],
    *,
    num_blocks: int | None = None,
    block_size: int = 16,
    progress: Progress = None,
) -> Simulated:
    """Serve the traffic under the policy in virtual time. The policy itself stays unused.

    step_time: seconds of every step, or a function of its plan, as for `VirtualClock`. num_blocks:
    KV blocks in the pool; None is enough for any batch. progress: True shows a bar; a function is
    called with the number of requests that have ended, and of all. Of a request only its lengths,
    arrival time, deadline, priority and client count; its answer has max_tokens tokens. Raises what
    the engine raises.
    """
    traffic, requests = _both(requests)
    with tqdm(total=len(traffic), unit="request", disable=progress is not True) as bar:
        tell = _teller(bar, progress)
        parts = policy, traffic, requests, step_time, num_blocks, block_size, tell
        return _run_engine(*parts, why="The engine ran every step.")


def _both(requests: Traffic | Iterable[Request]) -> tuple[Traffic, list[Request] | None]:
    """The columns, and the requests if there are any, in the same order."""
    if isinstance(requests, Traffic):
        return requests, None
    requests = by_arrival(requests)
    return Traffic.of(requests), requests


def _teller(bar: tqdm, progress: Progress) -> Callable[[int, int], object]:
    def tell(done: int, total: int) -> None:
        bar.update(done - bar.n)
        if callable(progress):
            progress(done, total)

    return tell


def _run_engine(
    policy: Scheduler,
    traffic: Traffic,
    requests: list[Request] | None,
    step_time: float | Callable[[StepPlan], float],
    num_blocks: int | None,
    block_size: int,
    tell: Callable[[int, int], object],
    why: str,
) -> Simulated:
    """Every step by the real engine and a copy of the policy, on a pretend model."""
    if isinstance(policy, Scheduler) and policy.pool is None:
        policy = copy.deepcopy(policy)
    model = PretendModel()
    model.max_model_len = max(model.max_model_len, _longest(traffic))
    pool = {"num_blocks": num_blocks, "block_size": block_size}
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


def _longest(traffic: Traffic) -> int:
    return int((traffic.prompt + traffic.output).max(initial=1))


def _finish_time(completion: Completion) -> float | None:
    return completion.finish_time if completion.finish_reason == "length" else None


def _times(times: Iterable[float | None]) -> np.ndarray:
    return np.array([np.nan if time is None else time for time in times], dtype=np.float64)
