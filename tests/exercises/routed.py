"""Some replicas behind a router, for exercise 13.2: events in order of time, and no engine.

A replica computes one prompt at a time, in the order in which its requests have come; then the
request decodes beside others, in one of its places. It keeps blocks of prompts, the least recently
used go first. It reports at multiples of REPORT_S, and a router sees the last reports. Everything
follows from a seed, so a verdict does not depend on luck.
"""

from __future__ import annotations

import hashlib
import heapq
import math
import random
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from minibatch.routers import Incoming, ReplicaView

BLOCK = 256  # tokens
TOKENS_PER_S = 10_000.0  # of prompts
ITL_S = 0.02
NUM_PLACES = 24
NUM_BLOCKS = 160  # of a replica's cache
POOL_TOKENS = 200_000
REPORT_S = 0.5

Choose = Callable[[Incoming, list[ReplicaView]], int]


@dataclass(eq=False)
class Asked:
    """One request. at: when it comes, in seconds."""

    at: float
    request: Incoming
    answer: int
    replica: int = -1
    uncached: int = 0  # when its prompt begins to be computed
    ttft: float = math.nan


@dataclass(frozen=True)
class Traffic:
    """Requests in groups. Those of a group begin with the same manual. skew: how much more often
    the first groups come; manuals: tokens of each, from and to. hot: the share of one group in the
    middle third of the requests."""

    seed: str
    num_requests: int = 700
    num_replicas: int = 6
    num_groups: int = 12
    skew: float = 1.2
    rate: float = 28.0
    manuals: tuple[int, int] = (2_000, 8_000)
    hot: float = 0.75

    def requests(self) -> list[Asked]:
        chance, now, found = random.Random(f"13.1 {self.seed}"), 0.0, []
        manuals = [chance.randint(*self.manuals) for _ in range(self.num_groups)]
        weights = [1 / (i + 1) ** self.skew for i in range(self.num_groups)]
        for number in range(self.num_requests):
            now += chance.expovariate(self.rate)
            (group,) = chance.choices(range(self.num_groups), weights)
            if 1 / 3 < number / self.num_requests < 2 / 3 and chance.random() < self.hot:
                group = self.num_groups // 2
            own = chance.randint(1_500, 6_000) if chance.random() < 0.1 else chance.randint(30, 500)
            found.append(asked(now, f"{self.seed} {group}", manuals[group], number, own, chance))
        return found


def asked(at: float, group: str, manual: int, number: int, own: int, chance=random) -> Asked:
    """A request whose prompt is a manual of some tokens and a part of its own."""
    total = manual + own
    names = [
        f"{group}/{i}" if (i + 1) * BLOCK <= manual else f"{group}/{number}/{i}"
        for i in range((total - 1) // BLOCK)
    ]
    hashes = tuple(hash_of(name) for name in names)
    answer = min(600, 1 + int(chance.expovariate(1 / 120)))
    return Asked(at, Incoming(total, hashes, f"user {number}"), answer)


def hash_of(name: str) -> bytes:
    """Eight bytes that stand for a block."""
    return hashlib.sha256(name.encode()).digest()[:8]


@dataclass(eq=False)
class Replica:
    """One of them, and what it has reported."""

    number: int
    waiting: deque[Asked] = field(default_factory=deque)
    num_running: int = 0
    held: int = 0  # tokens of those that run
    computing: Asked | None = None
    until: float = 0.0  # when its prompt is computed
    cache: OrderedDict[bytes, None] = field(default_factory=OrderedDict)
    report: ReplicaView = field(init=False)
    num_sent: int = 0  # since the report
    num_sent_tokens: int = 0

    def __post_init__(self) -> None:
        self.report = ReplicaView(self.number, max_running=NUM_PLACES, block_size=BLOCK)

    @property
    def view(self) -> ReplicaView:
        """What a router sees."""
        sent = {"num_sent": self.num_sent, "num_sent_tokens": self.num_sent_tokens}
        return self.report._replace(**sent)

    def uncached(self, request: Incoming) -> int:
        """Tokens of its prompt that must be computed now."""
        for i, each in enumerate(request.prefix_hashes):
            if each not in self.cache:
                return request.num_tokens - i * BLOCK
        return request.num_tokens - len(request.prefix_hashes) * BLOCK

    def take_report(self, now: float) -> None:
        """Report how it is now."""
        tokens = sum(self.uncached(one.request) for one in self.waiting)
        if self.computing is not None:
            tokens += round((self.until - now) * TOKENS_PER_S)
        self.report = self.report._replace(
            num_running=self.num_running,
            num_waiting=len(self.waiting),
            num_uncached_tokens=tokens,
            kv_use=round(min(1.0, self.held / POOL_TOKENS), 3),
            cached=frozenset(self.cache),
        )
        self.num_sent = self.num_sent_tokens = 0

    def begin(self, now: float) -> bool:
        """Begin to compute the next prompt, if there is one, and a place."""
        if self.computing is not None or not self.waiting or self.num_running >= NUM_PLACES:
            return False
        one = self.computing = self.waiting.popleft()
        self.num_running += 1
        self.held += one.request.num_tokens + one.answer
        one.uncached = self.uncached(one.request)
        self.until = now + 0.005 + one.uncached / TOKENS_PER_S
        return True

    def computed(self) -> Asked:
        """Its prompt is computed: the first token is there."""
        one, self.computing = self.computing, None
        one.ttft = self.until - one.at
        for each in reversed(one.request.prefix_hashes):  # the end of a prompt goes first
            self.cache[each] = None
            self.cache.move_to_end(each)
        while len(self.cache) > NUM_BLOCKS:
            self.cache.popitem(last=False)
        return one


def hidden_streams() -> list[Traffic]:
    """What 13.2 is judged on."""
    return [Traffic(f"hidden {number}") for number in range(4)]


def serve(requests: list[Asked], numbers: list[int], choose: Choose) -> list[Asked]:
    """Serve the requests on replicas with these numbers. choose: gets a request and the views, and
    returns the number of one of them. The same requests come back, with their TTFT."""
    replicas = {number: Replica(number) for number in numbers}
    events = [(one.at, i, "comes", one) for i, one in enumerate(requests)]
    last = events[-1][0] + REPORT_S
    events += [(i * REPORT_S, -1, "report", None) for i in range(math.ceil(last / REPORT_S))]
    heapq.heapify(events)
    count = len(requests)

    def begin(replica: Replica, now: float) -> None:
        nonlocal count
        if replica.begin(now):
            count += 1
            heapq.heappush(events, (replica.until, count, "computed", replica))

    while events:
        now, _, kind, what = heapq.heappop(events)
        if kind == "comes":
            views = [replica.view for replica in replicas.values()]
            replica = replicas[choose(what.request, views)]
            what.replica = replica.number
            replica.num_sent += 1
            replica.num_sent_tokens += replica.report.uncached_tokens(what.request)
            replica.waiting.append(what)
            begin(replica, now)
        elif kind == "computed":
            one = what.computed()
            count += 1
            heapq.heappush(events, (now + one.answer * ITL_S, count, "ends", (what, one)))
            begin(what, now)
        elif kind == "ends":
            replica, one = what
            replica.num_running -= 1
            replica.held -= one.request.num_tokens + one.answer
            begin(replica, now)
        else:
            for replica in replicas.values():
                replica.take_report(now)
    return requests
