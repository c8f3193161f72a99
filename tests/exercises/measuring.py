"""Rows of a load test, a server in virtual time, noisy systems with a capacity, and a claim.

All of it is drawn from its own name, so a verdict does not depend on luck.
"""

import math
import random
from dataclasses import dataclass, field
from functools import cached_property
from statistics import NormalDist

MOST_IDLE_CALLS = 300


def some_rows(chance, num_rows, endings="sssssur"):
    """Rows of a load test: s, u, r for served, unfinished, refused."""
    rows = []
    for i in range(num_rows):
        arrival, ending = 7 * i, chance.choice(endings)
        times = [arrival + chance.randint(20, 320)]
        for _ in range(chance.choice([0, 1, 2, 3, 6, 9])):
            times.append(times[-1] + chance.choice([8, 10, 11, 13, 30, 90]))
        if ending == "r" or (ending == "u" and chance.random() < 0.4):
            times = []
        rows.append((arrival, times, {"s": "served", "u": "unfinished", "r": "refused"}[ending]))
    return rows


TWO_HUNDRED = (some_rows(random.Random(11), 200), 250, 30, 6000)
CLAIM = {
    (): 81.0,
    ("batching",): 162.0,
    ("memory",): 89.1,
    ("stopping",): 315.9,
    ("batching", "memory"): 226.8,
    ("batching", "stopping"): 648.0,
    ("memory", "stopping"): 405.0,
    ("batching", "memory", "stopping"): 1814.4,
}


@dataclass
class LoadTest:
    """One load test, seen from both sides. All times are whole milliseconds.

    service_ms: of each request, alone and without a stall. stall: from when to when the server
    does nothing. silent: numbers of the requests that are never answered. wakes_every: `wait`
    returns at multiples of it only, as on a busy computer. late_ms: every `wait` returns that much
    later than it could, also if `until` is now or past; at end_ms at the latest.
    """

    due: list[int]
    service_ms: list[int]
    end_ms: int
    stall: tuple[int, int] = (0, 0)
    silent: frozenset[int] = frozenset()
    wakes_every: int = 1
    late_ms: int = 0

    time: int = 0
    sent: dict[int, int] = field(default_factory=dict)
    told: dict[int, int] = field(default_factory=dict)  # when wait has returned an answer
    order: list[int] = field(default_factory=list)  # in which answers were told
    in_flight: dict[int, int] = field(default_factory=dict)  # just after each send
    problem: str = ""
    _num_idle: int = 0

    def fresh(self):
        given = self.due, self.service_ms, self.end_ms, self.stall, self.silent
        return LoadTest(*given, self.wakes_every, self.late_ms)

    # What the learner's function is given --------------------------------------------------------

    def now(self):
        self._idle()
        return self.time

    def send(self, i):
        if type(i) is not int or not 0 <= i < len(self.due):
            self._fail(
                f"[sends_no_such_request] send({i!r}): a request's number goes from 0 to "
                f"{len(self.due) - 1}"
            )
        if i in self.sent:
            self._fail(f"[sends_twice] request {i} is sent a second time, at {self.time} ms")
        if self.time < self.due[i]:
            self._fail(
                f"[sends_before_it_is_due] request {i} is sent at {self.time} ms, before it is due "
                f"at {self.due[i]} ms. `wait` may return early, with an answer: look at now() "
                "before you send"
            )
        self._num_idle = 0
        self.sent[i] = self.time
        self.in_flight[i] = len(self.sent) - len(self.told)

    def wait(self, until):
        if type(until) not in (int, float) or math.isnan(until):
            self._fail(
                f"[waits_without_a_time] wait({until!r}): `until` must be a number, a time in "
                "milliseconds"
            )
        if self.time >= self.end_ms:
            self._fail(
                f"[waits_after_the_end] `wait` is called at {self.time} ms, but the test ended at "
                f"{self.end_ms} ms. Some requests never get an answer: leave the loop at end_ms"
            )
        if until > self.end_ms:
            self._fail(
                f"[waits_beyond_the_end] wait({until}): the test ends at {self.end_ms} ms. Wait at "
                "most until end_ms"
            )
        self._idle()
        coming = [self.answer_ms(i) for i in self.sent if i not in self.told]
        wake = max(self.time, min([until, *(when for when in coming if when is not None)]))
        wake = min(self.end_ms, self.up(wake) + self.late_ms)
        if wake > self.time:
            self.time, self._num_idle = wake, 0
        new = [i for i in self.sent if i not in self.told and self._is_answered(i)]
        new.sort(key=lambda i: (self.answer_ms(i), -i))  # of two at once, the newest first
        self.told |= dict.fromkeys(new, self.time)
        self.order += new
        return new

    def _is_answered(self, i):
        when = self.answer_ms(i)
        return when is not None and when <= self.time

    def _idle(self):
        self._num_idle += 1
        if self._num_idle > MOST_IDLE_CALLS:
            self._fail(
                f"[time_stands_still] you make {MOST_IDLE_CALLS} calls at {self.time} ms and send "
                "nothing. Time passes only in `wait`, and only if `until` is later than now()"
            )

    def _fail(self, sentence):
        self.problem = self.problem or sentence
        raise ValueError(sentence)

    # What is right -------------------------------------------------------------------------------

    def up(self, time):
        """The first moment from `time` on at which wait can return."""
        return math.ceil(time / self.wakes_every) * self.wakes_every

    def answer_ms(self, i):
        """When the server answers a request that was sent; None for never."""
        if i in self.silent:
            return None
        begin, end = self.sent[i], self.sent[i] + self.service_ms[i]
        stall_from, stall_to = self.stall
        if begin >= stall_to or end <= stall_from:
            return end
        return end + stall_to - max(begin, stall_from)

    def done_right(self):
        """This test, with each request sent when it could be: a copy."""
        right = self.fresh()
        num_sent = 0
        while right.time < right.end_ms:
            while num_sent < len(right.due) and right.due[num_sent] <= right.time:
                right.send(num_sent)
                num_sent += 1
            right.wait(right.due[num_sent] if num_sent < len(right.due) else right.end_ms)
        return right

    def latencies(self):
        return [
            self.told[i] - self.due[i] if i in self.told else None for i in range(len(self.due))
        ]


def every(gap, num, service_ms, end_ms, **others):
    return LoadTest([gap * i for i in range(num)], [service_ms] * num, end_ms, **others)


STALL = every(50, 30, 20, 2500, stall=(310, 1200))
NORMAL = [NormalDist().inv_cdf((i + 0.5) / 200) for i in range(200)]


@dataclass
class System:
    """A system whose attainment falls with the rate; a seed's traffic is easier or harder.

    knee: the rate at which half of the requests meet the SLO, with ordinary traffic. spread: how
    much seeds differ, as a logarithm of the rate. noise: of one run besides.
    """

    name: str
    knee: float
    steepness: float = 8.0
    spread: float = 0.2
    noise: float = 0.03
    target: float = 0.9
    low: float = 1.0
    high: float = 16.0
    most_runs: int = 200
    runs: list[tuple[float, int]] = field(default_factory=list)
    problem: str = ""

    def attainment(self, rate, seeds):
        """One run for each seed; for a single number, one run, and a number."""
        if type(rate) not in (int, float) or not 0 < rate < math.inf:
            self._fail(
                f"[rate_is_no_rate] attainment({rate!r}, …): a rate must be a number above 0"
            )
        if type(seeds) is int:
            return self._run(rate, seeds)
        if not isinstance(seeds, list | tuple) or not all(type(seed) is int for seed in seeds):
            self._fail(
                f"[seeds_are_no_list] attainment(…, {seeds!r}): seeds must be a list of whole "
                "numbers"
            )
        return [self._run(rate, seed) for seed in seeds]

    def _run(self, rate, seed):
        if len(self.runs) >= self.most_runs:
            self._fail(
                f"[too_many_runs] this is run {len(self.runs) + 1}; {self.most_runs} are allowed. "
                "Choose each rate so that it halves the range"
            )
        self.runs.append((rate, seed))
        luck = random.Random(f"{self.name} {seed}").gauss(0, self.spread)
        noise = random.Random(f"{self.name} {seed} {float(rate)}").gauss(0, self.noise)
        found = self._share(rate, luck) + noise
        return round(400 * min(1.0, max(0.0, found))) / 400

    def _fail(self, sentence):
        self.problem = self.problem or sentence
        raise ValueError(sentence)

    def _share(self, rate, luck):
        return 1 / (1 + (rate * math.exp(luck) / self.knee) ** self.steepness)

    @cached_property
    def capacity(self):
        """The true one, by the mean over all seeds."""
        low, high = self.knee / 50, self.knee * 50
        for _ in range(40):
            middle = (low * high) ** 0.5
            mean = sum(self._share(middle, self.spread * z) for z in NORMAL) / len(NORMAL)
            low, high = (middle, high) if mean >= self.target else (low, middle)
        return low

    def seeds_of_a_rate(self):
        """How many runs each rate had, and how many different ones, on average."""
        rates = {rate for rate, _ in self.runs}
        return len(self.runs) / len(rates), len(set(self.runs)) / len(rates)

    def error(self, found):
        return found / self.capacity - 1


class Step(System):
    """One in which every rate up to the knee has exactly the target, and no higher one any."""

    def _share(self, rate, luck):
        return self.target if rate <= self.knee else 0.0


def hidden_systems(num=40):
    return [System(f"hidden {i}", 3.0 * 1.12 ** (i % 12)) for i in range(num)]


def shown(system):
    return f"capacity(…, {system.low}, {system.high}, {system.target}, {system.most_runs})"
