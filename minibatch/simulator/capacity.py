"""`mb.capacity`: the highest rate of requests at which a policy meets an SLO, with its interval.

Every seed is one stream of requests. A higher rate brings the same requests closer together, so a
seed's own capacity can be found by bisection. The seeds' capacities differ; their median is the
answer, and its interval says how well twenty streams know it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import sqrt

import numpy as np
from tqdm.auto import tqdm

from ..schedulers import Scheduler
from .simulate import StepTime, simulate
from .slo import SLO, attainment
from .statistics import Interval, check_enough, median_interval
from .traffic import Traffic

FEWEST_SEEDS = 20
MOST_STEPS = 40  # up or down from the first rate, about 2 ** 40 times
TrafficOf = Callable[[float, int], Traffic]


@dataclass(frozen=True)
class Point:
    """One run: the share of its requests that met the SLO at this rate, requests per second."""

    rate: float
    seed: int
    share: float


@dataclass(frozen=True)
class Capacity:
    """rate: requests per second, the median of the seeds; interval: of that median. per_seed: one
    capacity for each seed, within the tolerance. points: all runs, for a figure. goal: the share of
    requests that had to meet the SLO. num_requests, cut: of each run, and left out at each end."""

    slo: SLO
    goal: float
    interval: Interval
    per_seed: tuple[float, ...]
    points: tuple[Point, ...]
    num_requests: int
    cut: float

    @property
    def rate(self) -> float:
        """Requests per second."""
        return self.interval.median

    def curve(self) -> tuple[np.ndarray, np.ndarray]:
        """For a figure: all rates tried, ascending, and the share of requests that met the SLO at
        each: float64 [runs]."""
        points = sorted(self.points, key=lambda point: point.rate)
        return np.array([p.rate for p in points]), np.array([p.share for p in points])

    def __str__(self) -> str:
        return (
            f"{self.interval} requests/s with {self.goal:.0%} of requests at {self.slo}; "
            f"{self.num_requests:,} requests a run, {self.cut:.0%} not counted at each end"
        )


def capacity(
    policy: Scheduler,
    traffic_of: TrafficOf,
    slo: SLO,
    step_time: StepTime,
    *,
    goal: float = 0.9,
    seeds: int = FEWEST_SEEDS,
    start: float = 1.0,
    tolerance: float = 0.02,
    cut: float = 0.1,
    num_blocks: int | None = None,
    block_size: int = 16,
    progress: bool = False,
) -> Capacity:
    """The highest rate at which `goal` of the requests meet the SLO, by bisection over `seeds`.

    traffic_of: a function of a rate (requests per second) and a seed, such as
    `lambda rate, seed: mb.traffic.poisson(rate, 500, seed=seed)`. A seed must give the same
    requests at every rate, only closer together. A run must last many times the SLO's limits: a
    queue that grows slowly makes no request late at first. start: the first rate tried. tolerance:
    a seed's bisection ends when the rates around its capacity differ by this share. Other arguments
    are those of `mb.simulate` and `slo.attainment`. Raises ValueError for fewer than 20 seeds, too
    few requests for the goal, or an SLO that is missed at every rate, or met at every rate.
    """
    if not 0 < goal < 1:
        raise ValueError(f"goal is {goal}; give a share of requests between 0 and 1, such as 0.9")
    if seeds < FEWEST_SEEDS:
        raise ValueError(
            f"{seeds} seeds are too few: the capacities of single streams differ by tens of per "
            f"cent. Give at least {FEWEST_SEEDS}."
        )
    if not (start > 0 and tolerance > 0):
        raise ValueError(f"start is {start}, tolerance is {tolerance}; give numbers above 0")
    num_requests = len(traffic_of(start, 0))
    check_enough(num_requests - 2 * int(cut * num_requests), 100 * goal)
    points: list[Point] = []

    def meets(seed: int, rate: float) -> bool:
        run = simulate(
            policy, traffic_of(rate, seed), step_time, num_blocks=num_blocks, block_size=block_size
        )
        points.append(Point(rate, seed, attainment(run, slo, cut).share))
        return points[-1].share >= goal

    found = []
    for seed in tqdm(range(seeds), unit="seed", disable=not progress):
        guess, factor = (found[-1], 1.1) if found else (start, 2.0)
        ask = partial(meets, seed)
        found.append(bisection(ask, guess, factor, tolerance, slo))
    return Capacity(
        slo, goal, median_interval(found), tuple(found), tuple(points), num_requests, cut
    )


def bisection(
    meets: Callable[[float], bool], guess: float, factor: float, tolerance: float, slo: SLO
) -> float:
    """The highest rate found that meets the SLO; one at most `tolerance` above it does not.

    factor: of the first step from the guess. Each further step's is its square, up to 2.
    """
    low = high = guess
    rises = meets(guess)
    for _ in range(MOST_STEPS):
        low, high = (high, high * factor) if rises else (low / factor, low)
        if meets(high if rises else low) != rises:
            break
        factor = min(2.0, factor * factor)
    else:
        if rises:
            raise ValueError(f"{slo} is met at every rate up to {high:.3g}/s; tighten it")
        raise ValueError(
            f"{slo} is missed even at {low:.3g} requests/s, where requests run alone; loosen it"
        )
    while high > low * (1 + tolerance):
        middle = sqrt(low * high)
        low, high = (middle, high) if meets(middle) else (low, middle)
    return low
