"""What the graders of lesson 09 share: machines in which memory or time run out.

All of them are the same in every run: what an answer scores is no matter of luck.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial

import minibatch as mb

# Who gives way: minibatch's own engine, and a crowd ---------------------------------------------


@dataclass(frozen=True)
class Crowd:
    """requests: (tokens of the prompt, tokens of the answer), all there at once."""

    requests: tuple[tuple[int, int], ...]
    num_blocks: int
    num_slots: int
    budget: int


def crowd(seed: int, prompts: tuple[int, int], answers: tuple[int, int], *sizes: int) -> Crowd:
    chance = random.Random(seed)
    many = ((chance.randint(*prompts), chance.randint(*answers)) for _ in range(40))
    return Crowd(tuple(many), *sizes)


FIVE = [Crowd(((60, 70), (90, 40), (20, 60), (50, 80), (40, 50)), 22, 8, 24)]
CROWDS = [crowd(seed, (20, 200), (20, 200), 60, 16, 128) for seed in range(4)]
LONG_PROMPTS = [crowd(10 + seed, (10, 600), (20, 100), 120, 16, 256) for seed in range(4)]

Candidate = tuple[int, int, int]  # tokens computed, said, and left to say at most


def candidates(sequences: Iterable[mb.Sequence]) -> list[Candidate]:
    return [
        (s.num_computed_tokens, s.num_output_tokens, s.request.max_tokens - s.num_output_tokens)
        for s in sequences
    ]


def num_recomputed(crowds: list[Crowd], choose: Callable[[list[Candidate]], int]) -> int:
    """Tokens computed for a second time, in all of these, if `choose` says who gives way."""
    total = 0
    for one in crowds:
        policy = mb.Budget(
            one.num_slots,
            one.budget,
            victim=lambda sequences: sequences[choose(candidates(sequences))],
        )
        clock = mb.VirtualClock(0.025)
        engine = mb.Engine(mb.PretendModel(), policy, num_blocks=one.num_blocks, clock=clock)
        engine.run(mb.Request([0] * prompt, max_tokens=answer) for prompt, answer in one.requests)
        total += engine.trace.summary()["recomputed_tokens"]
    return total


# Who may begin: an engine in which nobody gives way ---------------------------------------------

Question = tuple[tuple[int, int], list[tuple[int, int]], int, int]


@dataclass(frozen=True)
class Pool:
    """requests: (tokens of the prompt, tokens of the answer, and the most that it may get)."""

    num_blocks: int
    block_size: int
    requests: tuple[tuple[int, int, int], ...]


class Stuck(Exception):
    """No request can go on."""


class NotAdmitted(Stuck):
    """No request runs, and the next one is not admitted."""


@dataclass(eq=False)
class Runs:
    name: str
    num_tokens: int  # after the coming step
    max_num_tokens: int
    num_left: int
    num_blocks: int = 0

    @property
    def told(self) -> tuple[int, int]:
        return self.num_tokens, self.max_num_tokens


def life(pool: Pool) -> Generator[Question, bool, int]:
    """Serve its requests: asks whether the next may begin, returns how many steps it took."""
    running: list[Runs] = []
    waiting = deque(
        Runs("ABCDEFGHIJ"[i], prompt, prompt + most - 1, answer)
        for i, (prompt, answer, most) in enumerate(pool.requests)
    )
    num_steps = 0
    while waiting or running:
        while waiting:
            told = [one.told for one in running]
            if not (yield waiting[0].told, told, pool.num_blocks, pool.block_size):
                break
            running.append(waiting.popleft())
        if not running:
            raise NotAdmitted(f"{waiting[0].name} waits forever, though no request runs")
        moved = []
        for one in running:
            lacks = -(-one.num_tokens // pool.block_size) - one.num_blocks
            if lacks <= pool.num_blocks - sum(other.num_blocks for other in running):
                one.num_blocks += lacks
                moved.append(one)
        if not moved:
            held = ", ".join(f"{one.name} {one.num_blocks}" for one in running)
            raise Stuck(
                f"in step {num_steps + 1} no request can continue: each needs one more block, "
                f"none of {pool.num_blocks} is free, and no request will finish (blocks held: "
                f"{held})"
            )
        for one in moved:
            one.num_tokens += 1
            one.num_left -= 1
        running = [one for one in running if one.num_left]
        num_steps += 1
    return num_steps


def serve_pools(
    pools: list[Pool], ask: Callable[[list[Question]], list[bool]]
) -> list[int | Stuck]:
    """The steps that each took, or why it has no end. ask: answers a question of each pool."""
    lives = [life(pool) for pool in pools]
    ends: list[int | Stuck] = [0] * len(pools)
    answers: list[tuple[int, bool | None]] = [(i, None) for i in range(len(pools))]
    while answers:
        asked = []
        for i, answer in answers:
            try:
                asked.append((i, lives[i].send(answer)))
            except StopIteration as end:
                ends[i] = end.value
            except Stuck as stuck:
                ends[i] = stuck
        answers = []
        if asked:
            places, questions = zip(*asked, strict=True)
            answers = list(zip(places, ask(list(questions)), strict=True))
    return ends


def some_pools(chance: random.Random, number: int) -> list[Pool]:
    return [_pool(chance) for _ in range(number)]


def _pool(chance: random.Random) -> Pool:
    block_size = chance.choice((1, 2, 4))
    requests = []
    for _ in range(chance.randint(3, 6)):
        prompt, most = chance.randint(1, 8), chance.randint(1, 16)
        answer = most if chance.random() < 0.7 else chance.randint(1, most)
        requests.append((prompt, answer, most))
    longest = max(-(-(prompt + most - 1) // block_size) for prompt, _, most in requests)
    return Pool(longest + chance.randint(0, longest), block_size, tuple(requests))


POOLS = some_pools(random.Random("pools"), 1000)


def up(tokens: int, block_size: int) -> int:
    return -(-tokens // block_size)


def by_maximum(new, running, num_blocks, size):
    """Keep the maximum for everybody."""
    return sum(up(most, size) for _, most in [*running, new]) <= num_blocks


def by_peak(new, running, num_blocks, size):
    """Look at every step to come."""
    everyone = [*running, new]
    return all(
        sum(up(n + t, size) for n, most in everyone if n + t <= most) <= num_blocks
        for t in range(max(most - n for n, most in everyone) + 1)
    )


def asking(rule: Callable[..., bool]) -> Callable[[list[Question]], list[bool]]:
    return lambda questions: [rule(*question) for question in questions]


@cache
def num_steps(rule: Callable[..., bool]) -> int:
    """Of all 1,000 pools, under a rule of ours."""
    return sum(serve_pools(POOLS, asking(rule)))


# Whom to refuse: prompts, one after another -------------------------------------------------------

Waiting = list[tuple[int, int]]


def longest_up_to_the_late(waiting: Waiting, now: int, limit: int) -> list[int]:
    """Whenever somebody is late, the longest of those up to there goes (Moore, 1968)."""
    stay, refused, end = [], [], now
    for place, (arrival, cost) in enumerate(waiting):
        stay.append(place)
        end += cost
        if end > arrival + limit:
            longest = max(stay, key=lambda one: waiting[one][1])
            stay.remove(longest)
            refused.append(longest)
            end -= waiting[longest][1]
    return refused


def late(waiting: Waiting, refused: Iterable[int], now: int, limit: int) -> list[int]:
    """Of those who stay, the places of those who are not in time."""
    gone, found, end = set(refused), [], now
    for place, (arrival, cost) in enumerate(waiting):
        if place not in gone:
            end += cost
            if end > arrival + limit:
                found.append(place)
    return found


def stream(seed: str, number: int, load: float) -> Waiting:
    """Prompts that take 20 to 60 ms, and three of ten 200 to 400; they come at random."""
    chance, time, found = random.Random(seed), 0.0, []
    for _ in range(number):
        cost = chance.randint(200, 400) if chance.random() < 0.3 else chance.randint(20, 60)
        time += chance.expovariate(load / 118)
        found.append((round(time), cost))
    return found


STREAM, LIMIT_MS = stream("prompts", 300, 1.2), 1500


def num_in_time(arrivals: Waiting, limit: int, refuse: Callable[..., Iterable[int]]) -> int:
    """How many get their first token in time, if `refuse` is asked whenever the machine is free."""
    to_come, waiting, now, found = deque(arrivals), [], 0, 0
    while to_come or waiting:
        if not waiting:
            now = max(now, to_come[0][0])
        while to_come and to_come[0][0] <= now:
            waiting.append(to_come.popleft())
        gone = set(refuse(list(waiting), now, limit))
        waiting = [one for place, one in enumerate(waiting) if place not in gone]
        if waiting:
            arrival, cost = waiting.pop(0)
            now += cost
            found += now <= arrival + limit
    return found


# Who is next: one slot, and urgent ones without end -----------------------------------------------

SERVICE_MS = 100


def first_served(
    waiting: Waiting, coming: Iterator[tuple[int, int]], choose: Callable[..., int], most: int
) -> int | None:
    """At which time the first of `waiting` is served; None if it still waits at `most` ms. The slot
    serves one at a time, for SERVICE_MS. coming: (priority, arrival), the soonest first."""
    patient, queue, now = waiting[0], list(waiting), 0
    following = next(coming)
    while now <= most:
        while following[1] <= now:
            queue.append(following)
            following = next(coming)
        if queue:
            one = queue.pop(choose(list(queue), now))
            if one is patient:
                return now
        now += SERVICE_MS
    return None


def urgent(priority: int, every_ms: int) -> Iterator[tuple[int, int]]:
    """One more of that priority, again and again, without end."""
    return ((priority, every_ms * i) for i in range(10**9))


peak_steps = partial(num_steps, by_peak)
maximum_steps = partial(num_steps, by_maximum)
