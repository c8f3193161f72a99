"""What serves the requests of one replica: the fast simulator, or the real engine on a pretend
model. Both are stepped one forward pass at a time, and both give the same times.

The loop (loop.py) owns the time. Before changing this file: a step begins when it is asked for, and
what it brought is collected when it has ended, so nobody sees the future.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import NamedTuple

from ...core.clock import SAME_TIME, VirtualClock
from ...core.plan import StepPlan
from ...core.request import Request, Sequence
from ...engine.engine import Engine
from ...engine.trace import Trace
from ...memory.block_manager import BlockManager
from ...schedulers import Scheduler
from ..fast import FastSimulator
from ..pretend import TOKEN, PretendModel
from .kv_events import WatchedIndex

StepTime = float | Callable[[StepPlan], float]


class Job(NamedTuple):
    """One request, or a half of one, for one replica. number: the request's. max_tokens: of the
    answer. received: its prompt's K and V, and the first token, come with it. request: for the
    engine; None is a prompt without content."""

    number: int
    prompt: int
    max_tokens: int
    received: bool = False
    request: Request | None = None


class Ended(NamedTuple):
    """How a job ended: times on the replica, NaN where it never came to that. cached: prompt tokens
    found in the prefix cache. failure: "" if it was served."""

    number: int
    first_scheduled: float
    first_token: float
    finish: float
    preemptions: int
    cached: int = 0
    failure: str = ""


class FastBackend:
    """The fast simulator; without a prefix cache."""

    def __init__(self, policy: Scheduler, step_time: StepTime, pool: dict[str, int | None]) -> None:
        self.simulator = FastSimulator(policy, step_time, compiled=False, **pool)
        self.now = self.simulator.snapshot()
        self.changes: list[tuple[bytes, bool]] = []
        self._numbers: list[int] = []  # of the requests, by row
        self._live: dict[int, None] = {}  # rows that have not ended
        self._num_started, self._num_ended, self.earlier = 0, 0, None

    def add(self, job: Job, time: float) -> None:
        """Take a job that has reached the replica at this time."""
        self._live[self.simulator.add(time, job.prompt, job.max_tokens, job.received)] = None
        self._numbers.append(job.number)

    def step(self, time: float, until: float = -math.inf) -> float | None:
        """Begin a forward pass now; returns when it ends, or None if there is nothing to do.
        until: as for `FastSimulator.step`; after several passes, `earlier` is before the last."""
        if not self._live:
            return None
        before, end = self.now.num_steps, self.simulator.step(until)
        self.now, self.earlier = self.simulator.snapshot(), None
        if self.now.num_steps > before + 1:
            began, num_free = self.simulator.before_last
            self.earlier = began, self._kv_use(num_free)
        return end

    def next_time(self, time: float) -> float | None:
        """When to begin the next step, at `time` or later; None without work."""
        return time if self._live else None

    def started(self) -> Iterable[int]:
        """The requests that have got their first token since the last call."""
        if self.now.num_started == self._num_started:
            return ()
        before, self._num_started = self._num_started, self.now.num_started
        return self._numbers[before : self._num_started]

    def ended(self) -> list[Ended]:
        """The requests that have ended since the last call."""
        if self.now.num_finished == self._num_ended:
            return []
        self._num_ended = self.now.num_finished
        known = itertools.takewhile(self.simulator.num_admitted.__gt__, self._live)  # rows in order
        done = [row for row in known if self.simulator.is_finished(row)]
        for row in done:
            del self._live[row]
        return [Ended(self._numbers[row], *self.simulator.row(row)) for row in done]

    def state(self) -> tuple[int, int, float]:
        """Requests that have left the queue, requests that run, and the share of KV blocks held."""
        now = self.now
        return now.num_left_queue, now.num_running, self._kv_use(now.num_free_blocks)

    def _kv_use(self, num_free: int) -> float:
        total = self.simulator.num_blocks
        return 0.0 if total is None else 1 - num_free / total

    @property
    def num_held_blocks(self) -> int:
        """KV blocks that requests hold."""
        total = self.simulator.num_blocks
        return 0 if total is None else total - self.now.num_free_blocks

    @property
    def num_steps(self) -> int:
        """Forward passes so far."""
        return self.now.num_steps


class ReplicaEngine(Engine):
    """An engine whose arrival times always count from 0, and which keeps what has ended."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.ended: list[Sequence] = []

    def add(self, request: Request) -> str:
        """As `Engine.add`; a full queue ends the request as "refused" when it arrives."""
        return self._enqueue([request], enforce_limits=False)[0].request_id

    def _complete(self, sequences: Iterable[Sequence]) -> None:
        ended = list(sequences)
        super()._complete(ended)
        self.ended += ended


class ReceivingBlocks(BlockManager):
    """Block tables for sequences whose K and V were computed elsewhere: when such a sequence is
    admitted, all its tokens but the newest count as computed. After a preemption they do not."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)
        self.received: set[Sequence] = set()

    def share(self, sequence: Sequence) -> None:
        if sequence in self.received:
            self.received.remove(sequence)
            sequence.num_computed_tokens = sequence.num_tokens - 1
        else:
            super().share(sequence)


class EngineBackend:
    """The real engine and the real policy, every step."""

    def __init__(
        self,
        policy: Scheduler,
        step_time: StepTime,
        pool: dict[str, int | None],
        prefix_caching: bool,
        limits: tuple[int, int],
    ) -> None:
        model = PretendModel()
        model.max_model_len, model.vocab_size = limits
        self.engine = engine = ReplicaEngine(
            model, policy, clock=VirtualClock(step_time), trace=Trace(keep=0, latencies=False),
            prefix_caching=prefix_caching, **pool,
        )  # fmt: skip
        if prefix_caching:
            engine.pool.prefixes = WatchedIndex(engine.pool.num_blocks, engine.pool.block_size)
        policy.blocks = ReceivingBlocks(engine.pool)
        self.changes = engine.pool.prefixes.changes if prefix_caching else []
        self._waits_for_first: set[int] = set()
        self._started: list[int] = []
        self._cached: dict[str, int] = {}
        self._num_ended, self.earlier = 0, None

    def add(self, job: Job, time: float) -> None:
        """Take a job that has reached the replica at this time."""
        request = job.request or Request([TOKEN] * job.prompt, ignore_eos=True)
        name = str(job.number)
        self.engine.add(
            replace(request, arrival_time=time, max_tokens=job.max_tokens, stop_token_ids=(),
                    request_id=name)
        )  # fmt: skip
        self._waits_for_first.add(job.number)
        if job.received:
            sequence = self.engine.sequence(name)
            sequence.token_ids.append(TOKEN)
            sequence.token_times.append(time)
            self.engine.scheduler.blocks.received.add(sequence)

    def step(self, time: float, until: float = -math.inf) -> float | None:
        """Begin one forward pass now; returns when it ends, or None if there is nothing to do."""
        engine = self.engine
        while (due := engine.next_event_time) is not None and due <= time:
            if due > engine.clock.now():
                engine.clock.sleep(max(due - engine.clock.now(), SAME_TIME))
            if (record := engine.step(wait=False)) is None:
                continue
            if record.sharing is not None:
                for lookup in record.sharing.lookups:
                    self._cached.setdefault(lookup.request_id, lookup.num_hits)
            started = {int(row[0]) for row in record.row_values if row[5]} & self._waits_for_first
            self._waits_for_first -= started
            self._started += started
            return record.end_time
        return None

    def next_time(self, time: float) -> float | None:
        """When to begin the next step, at `time` or later; None without work."""
        due = self.engine.next_event_time
        return None if due is None else max(due, time)

    def started(self) -> Iterable[int]:
        """The requests that have got their first token since the last call."""
        new, self._started = self._started, []
        return new

    def ended(self) -> list[Ended]:
        """The requests that have ended since the last call."""
        new, self.engine.ended = self.engine.ended, []
        self._num_ended += len(new)
        return [self._end_of(sequence) for sequence in new]

    def state(self) -> tuple[int, int, float]:
        """Requests that have left the queue, requests that run, and the share of KV blocks held."""
        running, pool = self.engine.scheduler.running, self.engine.pool
        left = self._num_ended + sum(not s.is_finished for s in running)
        return left, len(running), 1 - pool.num_free / pool.num_blocks

    @property
    def num_held_blocks(self) -> int:
        """KV blocks that requests hold."""
        return self.engine.pool.num_blocks - self.engine.pool.num_free

    @property
    def num_steps(self) -> int:
        """Forward passes so far."""
        return self.engine.trace.num_steps

    def _end_of(self, s: Sequence) -> Ended:
        reason, nothing = s.finish_reason, math.nan
        served = reason == "length"
        return Ended(
            int(s.request_id),
            nothing if s.first_scheduled_time is None else s.first_scheduled_time,
            s.token_times[0] if s.token_times else nothing,
            s.finish_time if served else nothing,
            s.num_preemptions,
            self._cached.pop(s.request_id, 0),
            "" if served else reason,
        )
