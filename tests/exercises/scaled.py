"""Days of traffic on replicas that an autoscaler orders and returns, for exercise 13.4.

Requests flow: what comes and what is served are rates, not single requests. A replica serves up to
PLACES requests at the same time, each for SERVICE_S. Others wait. Everything follows from a seed,
so a verdict does not depend on luck.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

STEP_S, INTERVAL_S = 5, 30
SERVICE_S, PLACES, TARGET = 20.0, 12, 8
MOST_WAIT_S = 2.0
RECENT = 20  # calls that `ongoing` goes back
HOUR = 3600

Desired = Callable[..., int]


@dataclass(frozen=True)
class Day:
    """What comes. rates: (hour, requests per second) at which the rate bends; noise: how far the
    requests of half a minute are from it, as a share."""

    name: str
    rates: tuple[tuple[float, float], ...]
    noise: float = 0.15
    startup_s: int = 120
    least: int = 1
    most: int = 40
    num_ready: int = 1

    def come(self) -> list[float]:
        """Requests in each step."""
        chance, found, factor = random.Random(f"13.4 {self.name}"), [], 1.0
        for i in range(round(self.rates[-1][0] * HOUR / STEP_S)):
            if i % (INTERVAL_S // STEP_S) == 0:
                factor = max(0.0, 1 + chance.gauss(0, self.noise))
            mean = self.rate(i * STEP_S / HOUR) * factor * STEP_S
            found.append(max(0.0, chance.gauss(mean, math.sqrt(mean))))
        return found

    def rate(self, hour: float) -> float:
        """Requests per second, without noise."""
        for (begin, low), (end, high) in zip(self.rates, self.rates[1:], strict=False):
            if hour <= end:
                return low + (high - low) * (hour - begin) / (end - begin)
        return self.rates[-1][1]


@dataclass
class Served:
    """How it went. calls: (now, ready, starting, ongoing, wanted) of each call."""

    calls: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    num_good: float = 0.0
    num_come: float = 0.0
    replica_hours: float = 0.0

    @property
    def attainment(self) -> float:
        return self.num_good / self.num_come

    @property
    def num_changes(self) -> int:
        """Calls that wanted another number than there was."""
        return sum(ready + starting != wanted for _, ready, starting, _, wanted in self.calls)

    @property
    def num_turns(self) -> int:
        """How often it went down after it had gone up, or up after it had gone down."""
        signs = [
            wanted > ready + starting
            for _, ready, starting, _, wanted in self.calls
            if wanted != ready + starting
        ]
        return sum(a != b for a, b in zip(signs, signs[1:], strict=False))


def live(day: Day, desired: Desired) -> Served:
    """A whole day. desired: gets what the learner's function gets, and its answer is obeyed."""
    ready, starting = day.num_ready, []  # when each will be ready
    ongoing, recent, served, changed = day.rate(0) * SERVICE_S, [], Served(), None
    for i, coming in enumerate(day.come()):
        now = i * STEP_S
        ready += sum(when <= now for when in starting)
        starting = [when for when in starting if when > now]
        if now % INTERVAL_S == 0:
            recent = [*recent, round(ongoing)][-RECENT:]
            wanted = desired(
                now, ready, len(starting), list(recent), changed, day.least, day.most, TARGET
            )
            served.calls.append((now, ready, len(starting), recent[-1], wanted))
            if wanted != ready + len(starting):
                changed = now
            starting += [now + day.startup_s] * (wanted - ready - len(starting))
            while ready + len(starting) > wanted:  # those that start are cancelled first
                if starting:
                    starting.pop()
                else:
                    ready -= 1
        waiting = ongoing + coming - ready * PLACES
        places = max(ready * PLACES, 1e-9)
        served.num_come += coming
        if waiting * SERVICE_S / places <= MOST_WAIT_S:
            served.num_good += coming
        served.replica_hours += (ready + len(starting)) * STEP_S / HOUR
        running = min(ongoing + coming / 2, ready * PLACES)
        ongoing = max(0.0, ongoing + coming - running * STEP_S / SERVICE_S)
    return served


def fewest_hours(day: Day) -> float:
    """Replica-hours that would do if the mean rate were known and met at once, at the target."""
    steps = range(round(day.rates[-1][0] * HOUR / STEP_S))
    needs = (day.rate(i * STEP_S / HOUR) * SERVICE_S / TARGET for i in steps)
    return sum(max(day.least, math.ceil(need)) for need in needs) * STEP_S / HOUR


def hidden_days() -> list[Day]:
    """Two days: a morning, a peak, an evening; and a sudden crowd at some hour of each."""
    found = []
    for number in range(2):
        chance = random.Random(f"13.4 hidden {number}")
        crowd, night, noon = chance.uniform(13, 18), chance.uniform(1.2, 2), chance.uniform(7, 9)
        ramp = chance.uniform(1.6, 2.0)
        shape = [(0, night), (6, night), (10, noon), (crowd, noon), (crowd + 0.1, ramp * noon)]
        shape += [(crowd + 0.7, ramp * noon), (crowd + 0.8, noon), (20, noon * 0.8), (24, night)]
        found.append(Day(f"hidden {number}", tuple(shape), num_ready=5))
    return found


MOST_COST, MOST_CHANGES, SHORT = 1.2, 120, 0.98
SAME_TRAFFIC = Day("the same", ((0, 4.0), (3, 4.0)), num_ready=10)
CROWD_COMES = Day("a crowd comes", ((0, 3.0), (0.5, 3.0), (0.55, 6.0), (1.5, 6.0)), num_ready=8)
CROWD_LEAVES = Day("a crowd leaves", ((0, 8.0), (0.5, 8.0), (0.55, 2.0), (2.5, 2.0)), num_ready=20)
