"""`python -m minibatch bench schedules`: every combination of a policy's parts, on random traffic.

No model computes anything; what is tried is whether everybody is served. A schedule is drawn, run
on the real engine, and held to what must be true of it: `Schedule.run` raises AssertionError, and
says what was drawn, so that a failure can be had again from its seed.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Callable
from collections.abc import Sequence as Several
from dataclasses import dataclass

from ..core.clock import VirtualClock
from ..core.completion import Completion
from ..core.plan import StepPlan
from ..core.records import StepRecord
from ..core.request import Request, Sequence
from ..engine.engine import Engine
from ..schedulers import Budget, QueueLimits, admission, chunks, orders, victims
from ..simulator.pretend import PretendModel


class Reckless(admission.Admission):
    """Lets in whoever finds room for one token more: the worst that a learner may write."""

    def num_tokens(self, sequence: Sequence) -> int:
        return sequence.num_computed_tokens + 1


ADMISSIONS = (
    Reckless,
    admission.ReserveMaximum,
    admission.PromptOnly,
    lambda: admission.Watermark(0.2),
    lambda: admission.Optimistic(num_steps=20, ahead=2),
)
VICTIMS = (
    lambda: victims.newest,
    lambda: victims.oldest,
    lambda: victims.least_computed,
    lambda: victims.most_computed,
    lambda: victims.lowest_priority,
    victims.Random,
)
ORDERS = (
    orders.FirstCome,
    orders.Priority,
    lambda: orders.Priority(aging=0.1),
    orders.ShortestPrompt,
    orders.LongestCachedPrefix,
    orders.FairShare,
)
CHUNKS = (chunks.first_come_first_served, chunks.equal_progress)
NUM_COMBINATIONS = len(ADMISSIONS) * len(VICTIMS) * len(ORDERS) * len(CHUNKS)


class Watched(Budget):
    """Looks at every plan it makes."""

    def plan(self, now: float) -> StepPlan:
        decoding = [s for s in self.running if s.num_uncomputed_tokens == 1]
        new = sum(not sequence.num_preemptions for sequence in self.waiting)
        most = self.limits.max_waiting
        assert most is None or new <= most, f"{new} newcomers wait, {most} may"
        plan = super().plan(now)
        planned = {row.sequence for row in plan.rows}
        stalled = [s.request_id for s in decoding if s in self.running and s not in planned]
        assert not stalled, f"{stalled} decode, still run, and have no row"
        num_tokens = sum(row.num_tokens for row in plan.rows)
        assert num_tokens <= self.max_batch_tokens, f"{num_tokens} tokens in one step"
        return plan


@dataclass
class Schedule:
    """What was drawn: a policy, its requests, and the pool they share. The pool
    holds the longest of them, and little more."""

    scheduler: Budget
    requests: list[Request]
    num_blocks: int
    block_size: int
    prefix_caching: bool

    @classmethod
    def draw(cls, rng: random.Random) -> Schedule:
        """One of all that there are; rng may be any with choice, randint and random."""
        num_slots, block_size = rng.randint(1, 5), rng.choice((1, 2, 4))
        times = sorted(rng.choice((0.0, 0.0, 0.1, 0.3, 0.6)) for _ in range(rng.randint(1, 7)))
        requests = [
            Request(
                [rng.randint(0, 1) for _ in range(rng.choice((1, 2, 5, 9, 14)))],
                max_tokens=rng.choice((1, 2, 5, 12)),
                arrival_time=arrival,
                priority=rng.randint(0, 3),
                client=rng.choice("xyz"),
                deadline=rng.choice((None, None, None, 0.0, 0.2)),
                request_id=f"r{i}",
            )
            for i, arrival in enumerate(times)
        ]
        longest = max(len(request.prompt) + request.max_tokens - 1 for request in requests)
        limits = QueueLimits(rng.choice((None, None, 3)), rng.choice((None, None, 25)))
        scheduler = Watched(
            num_slots,
            num_slots + rng.choice((0, 1, 3, 8, 30)),
            chunks=rng.choice(CHUNKS),
            order=rng.choice(ORDERS)(),
            admission=rng.choice(ADMISSIONS)(),
            victim=rng.choice(VICTIMS)(),
            limits=limits,
        )
        num_blocks = -(-longest // block_size) + rng.choice((0, 1, 3, 8))
        return cls(scheduler, requests, num_blocks, block_size, rng.choice((False, False, True)))

    def __str__(self) -> str:
        parts = self.scheduler
        named = (parts.order, parts.admission, parts.victim, parts.chunks)
        names = ", ".join(getattr(x, "__name__", type(x).__name__) for x in named)
        size = f"{self.num_blocks} blocks of {self.block_size}"
        slots = f"{parts.max_batch_size} slots, {parts.max_batch_tokens} tokens"
        return f"{names}; {slots}; {size}; {len(self.requests)} requests"

    def run(self) -> int:
        """Serve it; returns how many steps it took. Raises AssertionError if it breaks a promise.

        Nobody waits for ever: of all who run, the one admitted first, or one who has got a token
        since, goes on; so a token comes at least once in as many steps as a sequence has tokens.
        """
        model = PretendModel()
        model.vocab_size = 2
        engine = Engine(
            model,
            self.scheduler,
            num_blocks=self.num_blocks,
            block_size=self.block_size,
            prefix_caching=self.prefix_caching,
            clock=VirtualClock(0.025),
        )
        longest = max(len(r.prompt) + r.max_tokens for r in self.requests)
        most = sum(r.max_tokens for r in self.requests) * longest

        @engine.on_step
        def look(step: StepRecord) -> None:
            engine.check_invariants()
            assert step.index < most, f"{self}: no end after {most} steps"

        engine.run(self.requests)
        self.check(engine)
        return engine.trace.num_steps

    def check(self, engine: Engine) -> None:
        """What must be true once everybody has left."""
        done = {c.request_id: c for c in engine.trace.completions}
        assert len(done) == len(self.requests), f"{self}: somebody was lost"
        assert engine.pool.num_free == engine.pool.num_blocks, f"{self}: blocks are missing"
        for request in self.requests:
            self.check_one(request, done[request.request_id])
        summary, parts = engine.trace.summary(), self.scheduler
        computed = sum(row.num_tokens for step in engine.trace.steps for row in step.rows)
        needed = sum(len(c.prompt_token_ids) + len(c.token_ids) - 1
                     for c in done.values() if c.was_served)  # fmt: skip
        if not self.prefix_caching:
            again = summary["recomputed_tokens"]
            assert computed == needed + again, f"{self}: {computed} computed, {needed} + {again}"
        if isinstance(parts.admission, admission.ReserveMaximum):
            assert not summary["num_preemptions"], f"{self}: somebody gave way"
        served = [done[r.request_id] for r in self.requests if done[r.request_id].was_served]
        if isinstance(parts.order, orders.Priority) and parts.order.aging:
            self.check_aging(served, parts.order.aging)
        in_order = isinstance(parts.order, orders.FirstCome) and parts.victim is victims.newest
        if in_order and parts.chunks is chunks.first_come_first_served:
            times = [c.first_token_time for c in served]
            assert times == sorted(times), f"{self}: a first token came out of order"

    def check_one(self, request: Request, completion: Completion) -> None:
        """It was served to its end, or never ran; and ran in time, if it did."""
        if completion.was_served:
            assert len(completion.token_ids) == request.max_tokens, f"{self}: cut short"
        else:
            assert completion.first_scheduled_time is None, f"{self}: given up though it ran"
        if request.deadline is not None and completion.first_scheduled_time is not None:
            waited = completion.first_scheduled_time - completion.arrival_time
            assert waited <= request.deadline + 1e-9, f"{self}: began after its deadline"

    def check_aging(self, served: Several[Completion], aging: float) -> None:
        """Whoever passed one that had come before had points for it."""
        points = {request.request_id: request.priority for request in self.requests}
        for i, early in enumerate(served):
            for late in served[i + 1 :]:
                if late.first_scheduled_time < early.first_scheduled_time:
                    head = late.arrival_time - early.arrival_time
                    ahead = points[late.request_id] - points[early.request_id]
                    assert head <= ahead * aging + 1e-9, f"{self}: waits longer than aging allows"


def main(argv: Several[str], draw: Callable[[random.Random], Schedule] = Schedule.draw) -> int:
    """Try as many as asked; 1 at the first that fails, with the seed that draws it again."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch bench schedules",
        description="Try random schedules under every combination of a policy's parts.",
    )
    parser.add_argument("--number", type=int, default=100_000, metavar="N", help="how many")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first")
    options = parser.parse_args(argv)
    begin, num_steps = time.process_time(), 0
    for seed in range(options.seed, options.seed + options.number):
        try:
            num_steps += draw(random.Random(seed)).run()
        except AssertionError as error:
            print(f"--seed {seed} --number 1: {error}")
            return 1
    seconds = time.process_time() - begin
    print(
        f"{options.number:,} schedules, {num_steps:,} steps, {NUM_COMBINATIONS} combinations of "
        f"order, admission, victim and chunks: everyone was served ({seconds:.0f} s)"
    )
    return 0
