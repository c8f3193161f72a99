"""Orca's comparison of 2022, run again: the "36.9×" over FasterTransformer, as a curve.

GPT-3 175B on 16 A100 40 GB in two stages, Poisson arrivals, prompts of 32 to 512 tokens and answers
of 1 to 128, both uniform, no early end. A request's latency is its time divided by the tokens of
its answer. 36.9× is the ratio of the two highest rates whose median latency is within 190 ms, twice
that of a request that is alone ("the floor"). The ratio follows this target: the curve is the
result, and the floor its unit.

FasterTransformer is `Static`; it returns a batch when all of it has ended. Orca is `Continuous`
with as many slots as its memory reserves: room for 640 tokens each. How many it had is not known
here, so it also runs with 32.
Source: Yu et al., OSDI 2022, section 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..schedulers import Continuous, Sequential, Static
from .presets import A100_40, GPT3_175B, Preset
from .simulate import simulate
from .traffic import Traffic

MACHINE = Preset(GPT3_175B, A100_40, num_gpus=16, stages=2)
PUBLISHED_TARGET = 2.0  # floors
LONGEST_PROMPT, LONGEST_ANSWER = 512, 128
MOST_SLOTS = MACHINE.pool_tokens // (LONGEST_PROMPT + LONGEST_ANSWER)
NUM_RATES, NUM_SEEDS = 9, 3


@dataclass(frozen=True)
class System:
    """A batch size, and the runs to find its highest rate. slowest, fastest: the rates to try, as
    multiples of what a server of one request at a time can do. num_requests: of a run; a run at a
    high rate needs more, or it ends before a queue has grown."""

    name: str
    batch: int
    whole_batches: bool
    slowest: float
    fastest: float
    num_requests: int


ONE = System("FasterTransformer, batch 1", 1, True, 0.2, 0.98, 800)
EIGHT = System("FasterTransformer, batch 8", 8, True, 0.4, 4.5, 800)
ORCA = System("Orca", MOST_SLOTS, False, 8, 64, 2400)
ORCA_32 = System("Orca, 32 slots", 32, False, 8, 48, 2400)


def requests(rate: float, seed: int, n: int) -> Traffic:
    """One stream of the paper's requests; a higher rate brings the same ones closer together."""
    rng = np.random.default_rng(seed)
    arrival = rng.exponential(1.0, n).cumsum() / rate
    prompt = rng.integers(32, LONGEST_PROMPT, n, endpoint=True)
    return Traffic(arrival, prompt, rng.integers(1, LONGEST_ANSWER, n, endpoint=True))


def latencies(system: System, rate: float, seed: int, machine: Preset = MACHINE) -> np.ndarray:
    """Seconds for each token of an answer, queue included, of all requests but the first and the
    last tenth."""
    traffic = requests(rate, seed, system.num_requests)
    if system.batch == 1:
        finish = one_after_another(traffic.arrival, _service(seed, machine))
    else:
        policy = Static(system.batch) if system.whole_batches else Continuous(system.batch)
        run = simulate(policy, traffic, machine)
        finish = run.finish
        if system.whole_batches:
            _, batch = np.unique(run.first_scheduled, return_inverse=True)
            ends = np.zeros(batch.max() + 1)
            np.maximum.at(ends, batch, finish)
            finish = ends[batch]
    tenth = len(traffic) // 10
    return ((finish - traffic.arrival) / traffic.output)[tenth:-tenth]


def one_after_another(arrival: np.ndarray, service: np.ndarray) -> np.ndarray:
    """When each request ends if one server serves them in order: seconds, float64 [n]. A request
    ends after the service of all since the last one that found the server empty."""
    done = service.cumsum()
    return done + np.maximum.accumulate(arrival - (done - service))


@cache
def _service(seed: int, machine: Preset) -> np.ndarray:
    """Seconds that each request takes by itself."""
    return simulate(Sequential(), requests(1e-4, seed, ONE.num_requests), machine).e2e


@cache
def floor(machine: Preset = MACHINE) -> float:
    """The median latency of requests that are alone, seconds for a token."""
    return float(np.median(latencies(ONE, 1e-4, 0, machine)))


@cache
def sweep(system: System, machine: Preset = MACHINE) -> tuple[np.ndarray, np.ndarray]:
    """Rates, requests per second, and the median latency at each, in floors; both ascending."""
    one_server = 1 / float(_service(0, machine).mean())
    rates = np.geomspace(system.slowest, system.fastest, NUM_RATES) * one_server
    medians = [
        np.median([np.median(latencies(system, rate, s, machine)) for s in range(NUM_SEEDS)])
        for rate in rates
    ]
    return rates, np.maximum.accumulate(medians) / floor(machine)


def rate_at(system: System, target: float, machine: Preset = MACHINE) -> float:
    """The highest rate whose median latency is within the target, in floors. Between two rates of
    the sweep it is interpolated on logarithmic axes."""
    rates, medians = sweep(system, machine)
    if not medians[0] <= target <= medians[-1]:
        raise ValueError(
            f"a target of {target:g} floors is outside the range of the runs of {system.name}, "
            f"{medians[0]:.2f} to {medians[-1]:.2f}; choose one within"
        )
    return float(np.exp(np.interp(np.log(target), np.log(medians), np.log(rates))))


def ratio(
    baseline: System = ONE,
    target: float = PUBLISHED_TARGET,
    machine: Preset = MACHINE,
    system: System = ORCA,
) -> float:
    """How many times the baseline's rate the system carries at this target, in floors."""
    return rate_at(system, target, machine) / rate_at(baseline, target, machine)
