"""The two divisions: the machine that every policy gets, the promise to the users, and the loads.

Before changing this file: every number in here changes every score. `public_scores.json` is then
made again (`python -m minibatch.arena.make_scores`), and the tests say which scores moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..core.plan import StepPlan
from ..simulator.presets import A100_80, LLAMA_3_70B, Preset

# 70 billion weights on four GPUs by their data sheets: 23 ms to read the weights once, 151 µs for
# each prompt token. A slow model keeps a match short: few steps for a minute of traffic.
MACHINE = Preset(LLAMA_3_70B, A100_80, num_gpus=4)


@dataclass(frozen=True)
class Promise:
    """Token i of an answer, from 0 on, is due at arrival + ttft + i · tpot; seconds."""

    ttft: float
    tpot: float

    def due(self, arrival: float, i: int) -> float:
        """When token i is due."""
        return arrival + self.ttft + i * self.tpot

    def ten_times(self, arrival: float, i: int) -> float:
        """When token i is ten times late."""
        return arrival + 10 * (self.ttft + i * self.tpot)


@dataclass(frozen=True)
class Division:
    """What all matches of a division share.

    mixes: of traffic (traffic.py). capacity: requests a second of each mix that the machine can
    serve: 400 requests that all come at once, under `Continuous`, divided by the seconds until the
    last has ended, median of five seeds, times num_replicas; a load is a share of it.
    num_requests: of a match. cap: `max_tokens` of every request. end_s: a match ends so many
    seconds after its last arrival. num_replicas: engines; each has max_batch_size, max_batch_tokens
    and num_blocks. view_age_s: how old the reports are that a router sees.
    """

    name: str
    capacity: Mapping[str, float]
    num_requests: int
    mixes: tuple[str, ...] = ("day", "bursts", "greedy")
    num_blocks: int = 400
    slo: Promise = Promise(ttft=1.0, tpot=0.1)
    public_seeds: tuple[int, ...] = (1, 2, 3)
    loads: tuple[float, ...] = (0.6, 0.9, 1.3)
    cap: int = 256
    end_s: float = 20.0
    max_batch_size: int = 16
    max_batch_tokens: int = 512
    block_size: int = 16
    machine: Preset = MACHINE
    num_replicas: int = 1
    view_age_s: float = 0.0


class StepSeconds:
    """Seconds of a step on the division's machine, for a clock. Raises ValueError for a plan of
    more tokens than `max_batch_tokens`, and for a step faster than the weights can be read."""

    def __init__(self, division: Division) -> None:
        self.division, self.machine = division, division.machine
        roof, shape = self.machine.roof, self.machine.shape
        self.floor = 2 * shape.weights / roof.bytes_per_s  # at the data sheet's full bandwidth

    def __call__(self, plan: StepPlan) -> float:
        num_tokens = sum(row.num_tokens + row.num_padding_tokens for row in plan.rows)
        if num_tokens > self.division.max_batch_tokens:
            raise ValueError(
                f"a step of {num_tokens:,} tokens was planned; this division's machine computes "
                f"{self.division.max_batch_tokens:,} at most"
            )
        seconds = self.machine(plan)
        if seconds < self.floor:
            raise ValueError(f"a step took {seconds:g} s; the weights alone take {self.floor:g} s")
        return seconds


ENGINE = Division(
    name="engine", capacity={"day": 4.6, "bursts": 9.2, "greedy": 4.0}, num_requests=96
)
FLEET = replace(
    ENGINE,
    name="fleet",
    capacity={mix: 4 * rate for mix, rate in ENGINE.capacity.items()},
    num_requests=192,
    num_replicas=4,
    view_age_s=0.1,
)
DIVISIONS = {division.name: division for division in (ENGINE, FLEET)}
