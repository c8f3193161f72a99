"""Orca's comparison of 2022, run again: the "36.9×" over FasterTransformer, as a curve.

GPT-3 175B on 16 A100 40 GB in two stages, Poisson arrivals, prompts of 32 to 512 tokens and answers
of 1 to 128, both uniform, no early end. Latency is that of a request divided by the tokens of its
answer; its median must stay within a target. 36.9× is the ratio of the two highest rates at one
target, 190 ms: twice the latency of a request that is alone ("the floor"). The ratio follows the
target, so the curve is the result, and the floor its unit.

FasterTransformer is `Static`, and answers a batch when all of it has ended. Orca is `Continuous`
with as many slots as its memory reserves: room for 640 tokens each.
Source: Yu et al., OSDI 2022, section 6.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from ..schedulers import Continuous, Scheduler, Sequential, Static
from .presets import A100_40, GPT3_175B, Preset
from .simulate import Simulated, simulate
from .traffic import Traffic

MACHINE = Preset(GPT3_175B, A100_40, num_gpus=16, stages=2)
PUBLISHED_TARGET = 2.0  # floors
LONGEST_PROMPT, LONGEST_ANSWER = 512, 128
SLOTS = MACHINE.pool_tokens // (LONGEST_PROMPT + LONGEST_ANSWER)
NUM_REQUESTS, NUM_SEEDS, CUT = 400, 4, 40

# The policies, and the rates to try, as multiples of what a server of one request at a time can do.
SYSTEMS: dict[str, tuple[Scheduler, np.ndarray]] = {
    "FasterTransformer, batch 1": (Sequential(), np.geomspace(0.3, 1.05, 9)),
    "FasterTransformer, batch 8": (Static(8), np.geomspace(0.4, 5.5, 9)),
    "Orca, 32 slots": (Continuous(32), np.geomspace(4, 60, 9)),
    "Orca": (Continuous(SLOTS), np.geomspace(4, 60, 9)),
}


def requests(rate: float, seed: int) -> Traffic:
    """One stream of the paper's requests; a higher rate brings the same ones closer together."""
    rng = np.random.default_rng(seed)
    arrival = rng.exponential(1.0, NUM_REQUESTS).cumsum() / rate
    prompt = rng.integers(32, LONGEST_PROMPT, NUM_REQUESTS, endpoint=True)
    return Traffic(arrival, prompt, rng.integers(1, LONGEST_ANSWER, NUM_REQUESTS, endpoint=True))


def latency(run: Simulated, whole_batches: bool) -> float:
    """The median of seconds for each token of an answer, queue included, without the first and the
    last 40 requests. whole_batches: a request is answered when its batch has ended."""
    finish = run.finish
    if whole_batches:
        _, batch = np.unique(run.first_scheduled, return_inverse=True)
        ends = np.zeros(batch.max() + 1)
        np.maximum.at(ends, batch, finish)
        finish = ends[batch]
    return float(np.median(((finish - run.arrival) / run.output)[CUT:-CUT]))


@cache
def alone(machine: Preset = MACHINE) -> tuple[float, float]:
    """Of requests that are each alone: the median seconds for a token, the floor; and the requests
    a second that one server could do without a pause."""
    run = simulate(Sequential(), requests(1e-4, 0), machine)
    return latency(run, False), 1 / float(run.e2e.mean())


@cache
def sweep(system: str, machine: Preset = MACHINE) -> tuple[np.ndarray, np.ndarray]:
    """Rates, requests per second, and the median latency at each, in floors; both ascending."""
    policy, multiples = SYSTEMS[system]
    floor, one_server = alone(machine)
    medians = [
        np.median(
            [
                latency(simulate(policy, requests(rate, seed), machine), isinstance(policy, Static))
                for seed in range(NUM_SEEDS)
            ]
        )
        for rate in multiples * one_server
    ]
    return multiples * one_server, np.maximum.accumulate(medians) / floor


def rate_at(system: str, target: float = PUBLISHED_TARGET, machine: Preset = MACHINE) -> float:
    """The highest rate whose median latency is within the target, in floors. Between two rates of
    the sweep it is interpolated on logarithmic axes."""
    rates, latencies = sweep(system, machine)
    if not latencies[0] <= target <= latencies[-1]:
        raise ValueError(
            f"a target of {target:g} floors lies outside of what was tried for {system}: "
            f"{latencies[0]:.2f} to {latencies[-1]:.2f}"
        )
    return float(np.exp(np.interp(np.log(target), np.log(latencies), np.log(rates))))


def ratio(
    baseline: str = "FasterTransformer, batch 1",
    target: float = PUBLISHED_TARGET,
    machine: Preset = MACHINE,
    system: str = "Orca",
) -> float:
    """How many times the baseline's rate the system carries at this target."""
    return rate_at(system, target, machine) / rate_at(baseline, target, machine)


def curve(
    baseline: str, targets: Sequence[float], machine: Preset = MACHINE
) -> list[tuple[float, float]]:
    """Target, in floors, and ratio, for a figure."""
    return [(target, ratio(baseline, target, machine)) for target in targets]
