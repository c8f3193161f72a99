"""Random traffic on the real engine, under every combination of a policy's parts.

The model is a pretend one: only the scheduling is tested. `Schedule.draw` makes a schedule,
`Schedule.run` serves it and checks what must be true of it. A failed check raises AssertionError
and names what was drawn. The same seed draws the same schedule again.
"""

from __future__ import annotations

import random
from collections.abc import Sequence as Several
from dataclasses import dataclass

from minibatch.core.clock import VirtualClock
from minibatch.core.completion import Completion
from minibatch.core.plan import StepPlan
from minibatch.core.records import StepRecord
from minibatch.core.request import Request, Sequence
from minibatch.engine.engine import Engine
from minibatch.schedulers import Budget, QueueLimits, admission, chunks, orders, victims
from minibatch.simulator.pretend import PretendModel


class Reckless(admission.Admission):
    """Admits a sequence when one more token fits: the worst policy that a learner may write."""

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
    lambda: victims.fewest_output_tokens,
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


class Watched(Budget):
    """Checks every plan that it makes."""

    def plan(self, now: float) -> StepPlan:
        decoding = [s for s in self.running if s.num_uncomputed_tokens == 1]
        new = sum(not sequence.num_preemptions for sequence in self.waiting)
        most = self.limits.max_waiting
        assert most is None or new <= most, f"{new} new requests wait, at most {most} may"
        plan = super().plan(now)
        planned = {row.sequence for row in plan.rows}
        stalled = [s.request_id for s in decoding if s in self.running and s not in planned]
        assert not stalled, f"{stalled} decode and are running, but have no row"
        num_tokens = sum(row.num_tokens for row in plan.rows)
        assert num_tokens <= self.max_batch_tokens, f"{num_tokens} tokens in one step"
        return plan


@dataclass
class Schedule:
    """What was drawn: a policy, its requests and their pool. The pool holds the longest request,
    and few blocks more."""

    scheduler: Budget
    requests: list[Request]
    num_blocks: int
    block_size: int
    prefix_caching: bool

    @classmethod
    def draw(cls, rng: random.Random) -> Schedule:
        """A random schedule. rng: any object with choice, randint and random."""
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
        """Serve the requests; returns the number of steps. Raises AssertionError if a check fails.

        No request waits forever. Of the running sequences, one always goes on: the one admitted
        first, or one that has generated a token since. So some sequence generates a token within
        as many steps as the longest sequence has tokens.
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
        """Check what must be true once every request has ended."""
        done = {c.request_id: c for c in engine.trace.completions}
        assert len(done) == len(self.requests), f"{self}: a request was lost"
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
            assert not summary["num_preemptions"], f"{self}: a sequence was preempted"
        served = [done[r.request_id] for r in self.requests if done[r.request_id].was_served]
        if isinstance(parts.order, orders.Priority) and parts.order.aging:
            self.check_aging(served, parts.order.aging)
        in_order = isinstance(parts.order, orders.FirstCome) and parts.victim is victims.newest
        if in_order and parts.chunks is chunks.first_come_first_served:
            times = [c.first_token_time for c in served]
            assert times == sorted(times), f"{self}: a first token came out of order"

    def check_one(self, request: Request, completion: Completion) -> None:
        """Check that the request was served to its end or never ran, and started in time."""
        if completion.was_served:
            assert len(completion.token_ids) == request.max_tokens, f"{self}: cut short"
        else:
            assert completion.first_scheduled_time is None, f"{self}: given up after it ran"
        if request.deadline is not None and completion.first_scheduled_time is not None:
            waited = completion.first_scheduled_time - completion.arrival_time
            assert waited <= request.deadline + 1e-9, f"{self}: began after its deadline"

    def check_aging(self, served: Several[Completion], aging: float) -> None:
        """Check that a later request passed an earlier one only if its priority allowed that."""
        points = {request.request_id: request.priority for request in self.requests}
        for i, early in enumerate(served):
            for late in served[i + 1 :]:
                if late.first_scheduled_time < early.first_scheduled_time:
                    head = late.arrival_time - early.arrival_time
                    ahead = points[late.request_id] - points[early.request_id]
                    assert head <= ahead * aging + 1e-9, f"{self}: waits longer than aging allows"
