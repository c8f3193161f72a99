"""The loop: plan, run, update, record; around it, requests in and answers out.

Before changing this file: an exception may come anywhere, and the next step must go on. Tokens
advance only in `update`; recovery.py puts all that ran back into the queue.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Literal

from ..core.clock import SAME_TIME, Clock, WallClock
from ..core.other_names import ENGINE, translates
from ..core.plan import StepPlan
from ..core.records import StepRecord
from ..core.request import Completion, FinishReason, Request, Sequence, TokenEvent
from ..memory.blocks import BlockPool
from ..memory.prefix import PrefixIndex
from ..schedulers import Scheduler, reset_policy
from ..speculation.drafting import Drafting
from ..speculation.proposer import Guesser
from .argument_checks import check_finished, check_parts, check_plan, no_rows
from .arrivals import Arrivals, end_early, soonest
from .callbacks import Callbacks
from .guard import Guard
from .intake import check_ending, fork_requests, live_one, make_pool, make_runner, take_in
from .invariants import check_invariants
from .overlap import InOrder, Overlap
from .recovery import forget, recover
from .serving import completion, step_until_finished, token_events
from .trace import Trace

if TYPE_CHECKING:  # importing torch and transformers takes seconds; a pretend model needs neither
    from ..attention import AttentionFunction
    from ..model.load import Model


class Engine(Callbacks):
    """Serves requests on one model under one policy.

    num_blocks: KV blocks in the pool; None is enough for a full batch of longest sequences, but at
        most half of free memory. block_size: tokens in each. pool: your own, in place of these.
    attention: "auto", "reference", "gather", "cpu", a kernel ("simple", "tiled", "split"), or a
        function like `minibatch.attention.reference_attention`. clock: None is real time.
    prefix_caching: whether requests with the same beginning share K and V.
    speculation: what proposes draft tokens, such as `mb.PromptLookup()`; None is no speculation.
    trace: what is kept of the steps; None keeps all but the names of waiting requests.
    cuda_graphs: whether decode steps on a GPU are recorded once and replayed (model/graphs.py).
    overlap: whether a step is planned and launched while the one before runs (overlap.py).
    Its parts are its attributes: model, scheduler, pool, drafting, clock, trace, and runner:
    `runner.run(plan)` gives a list of token ids for each row. Times are seconds on its clock.
    """

    @translates(ENGINE)
    def __init__(
        self,
        model: Model,
        scheduler: Scheduler,
        *,
        num_blocks: int | None = None,
        block_size: int = 16,
        pool: BlockPool | None = None,
        attention: str | AttentionFunction = "auto",
        prefix_caching: bool = False,
        speculation: Guesser | None = None,
        clock: Clock | None = None,
        trace: Trace | None = None,
        cuda_graphs: bool = False,
        overlap: bool = False,
    ) -> None:
        check_parts(model, scheduler, speculation if overlap else None)
        super().__init__()
        self.model, self.scheduler, self.clock = model, scheduler, clock or WallClock()
        self.pool = pool = make_pool(model, scheduler.max_batch_size, num_blocks, block_size, pool)
        self.runner = make_runner(model, pool, attention, scheduler.max_batch_size * cuda_graphs)
        self.trace = (trace or Trace()).fresh(scheduler, pool.num_blocks)
        self.drafting = Drafting(speculation, scheduler, model.vocab_size, model.max_model_len)
        scheduler.bind(self.pool, self.clock)  # last: what fails above must not use it up
        pool.prefixes = PrefixIndex(pool.num_blocks, pool.block_size) if prefix_caching else None
        self._loop = Overlap(self) if overlap else InOrder(self)
        self._live: dict[str, Sequence] = {}  # everything not yet finished, by id
        self._arrivals, self._names, self._guard = Arrivals(), count(), Guard(self._recover)
        self._start = self.clock.now()  # arrival times count from here
        self._wake_time: float | None = None  # when to ask a policy again that planned no rows

    @property
    def has_work(self) -> bool:
        """Whether a request is still to arrive, waits or runs."""
        return bool(self._live)

    def step(self, wait: bool = True) -> StepRecord | None:
        """One forward pass. If all requests are still to arrive or the policy waits, it sleeps
        first; with `wait=False` it returns None (see `next_event_time`). None, too, if the last
        requests ended without a pass. Raises RuntimeError without work, or if no row is planned."""
        if self.has_work:
            return self._report(self._guard.run(lambda: self._loop.step(wait)))
        raise RuntimeError("nothing to do: no request waits or runs; call engine.add first")

    def _step(self, wait: bool) -> list[StepRecord]:
        if (plan := self._next_plan(wait)) is None:
            return []
        tokens = self.runner.run(plan)
        self.clock.tick(plan)
        now = self.clock.now()
        finished = self.scheduler.update(plan, tokens, now)
        check_finished(self.scheduler, plan, finished, self._live)
        self.scheduler.blocks.after_pass(plan)
        return [self._record(plan, tokens, finished, now)]

    @property
    def next_event_time(self) -> float | None:
        """When `step` has something to do, in seconds on the engine's clock; None without work."""
        if not self.has_work:
            return None
        now, time = self.clock.now(), self._wake_time
        if time is None and (self.scheduler.waiting or self.scheduler.running):
            return now
        return soonest(time, self._arrivals.next_time(now), self._arrivals.next_deadline())

    def _next_plan(self, wait: bool) -> StepPlan | None:
        """A plan with rows; None if there is none yet, or no request is left."""
        while self.has_work:
            now = self.clock.now()
            if (plan := self._ask_policy(now)) is None:
                break
            if plan.rows:
                self.drafting.add_to(plan)
                self.scheduler.check(plan)
                self.trace.begin(now, self.pool.num_free, self.clock.planned())
                return plan
            self._wake_time = soonest(plan.wake_at, self._arrivals.next_time(now))
            if self._wake_time is None or self._wake_time <= now:
                raise no_rows(self.scheduler, now)
            if not wait:
                break
            until = soonest(self._wake_time, self._arrivals.next_deadline())
            self.clock.sleep(max(until - now, SAME_TIME))
        return None

    def _ask_policy(self, now: float) -> StepPlan | None:
        """Its plan; None if no request is left after arrivals, deadlines and refusals."""
        self._wake_time = None
        self._complete(self._arrivals.let_in(self.scheduler, now))
        if not self.has_work:
            return None
        plan = check_plan(self.scheduler, self.scheduler.plan(now))
        self._complete(self.scheduler.take_refused())
        return plan if self.has_work else None

    def _record(
        self, plan: StepPlan, tokens: list[list[int]], finished: list[Sequence], now: float
    ) -> StepRecord:
        """Store what is known after a step, with overlap or without: record and completions."""
        record = self.trace.record(plan, tokens, finished, self.scheduler, now)
        self._complete(finished)
        return record

    def _recover(self) -> None:
        self._loop.discard(failed=True)
        parts = self.scheduler, self.pool, self._live, self._arrivals, self.trace
        self._complete(recover(*parts))
        self.drafting.reset()

    def add(self, request: Request) -> str:
        """Add a request; returns its id. Raises ValueError, with the numbers, if it can never
        be served here, or if its id is in use; QueueFull if the queue is full (`QueueLimits`). A
        request that arrives later, or comes by `run`, ends as "refused" instead."""
        self._guard.recover_if_needed()
        if not self.has_work:
            self._start = self.clock.now()
        return self._enqueue([request], enforce_limits=True)[0].request_id

    def fork(self, request_id: str, n: int = 1) -> list[str]:
        """Ask for `n` more answers to the prompt of a live request; returns their ids. Each is a
        request with its own seed. If the other still runs when a fork is admitted, the fork shares
        the full blocks of the prompt, and computes the rest. Raises what `add` raises."""
        parent = self.sequence(request_id)
        requests = fork_requests(parent, n, self._live)
        return [s.request_id for s in self._enqueue(requests, parent, enforce_limits=True)]

    def sequence(self, request_id: str) -> Sequence:
        """The state of a live request, to read. Raises ValueError if it is not live."""
        self._guard.recover_if_needed()
        return live_one(request_id, self._live)

    def abort(self, request_id: str) -> None:
        """End a request now, and release its blocks. Raises ValueError if it is not live."""
        sequence = self.sequence(request_id)
        self._report(self._guard.run(lambda: self._end(sequence, "abort")))

    def finish(self, request_id: str, reason: Literal["stop", "length"] = "stop") -> None:
        """End an answer after its newest token, as one that was served: latencies count it. Raises
        ValueError if the request is not live, or has no token yet."""
        sequence = check_ending(self.sequence(request_id), reason)
        self._report(self._guard.run(lambda: self._end(sequence, reason)))

    def _end(self, sequence: Sequence, reason: FinishReason) -> list[StepRecord]:
        self._wake_time = None
        time = self.clock.now() if reason == "abort" else sequence.token_times[-1]
        self.scheduler.abort(end_early(sequence, reason, time))
        self._complete([sequence])
        return self._loop.collect_dead()

    def run(self, requests: Iterable[Request], progress: bool = False) -> list[Completion]:
        """Serve these; returns their completions in the order given. After an interruption or error
        its requests are still live: `step` continues with them."""
        self._start = self.clock.now()
        sequences = self._enqueue(requests, enforce_limits=False)
        step_until_finished(self, sequences, progress)
        return [completion(sequence, self.model) for sequence in sequences]

    def stream(self, requests: Iterable[Request]) -> Iterator[TokenEvent]:
        """Serve these, yielding each token as it comes. Closing the iterator aborts the rest."""
        self._start = self.clock.now()
        return token_events(self, self._enqueue(requests, enforce_limits=False))

    def reset(self) -> None:
        """Abort every request, empty trace, queue, pool, prefix cache, set the clock back, and call
        `reset` of the policy and its parts, if they have one. Callbacks stay."""
        self._guard.clear()
        self._guard.run(self._reset)

    def _reset(self) -> None:
        self._loop.discard()
        forget(self.scheduler, self.pool, self._live, self._arrivals, self.clock.now())
        self.drafting.reset()
        self.clock.reset()
        self._start, self._names, self._wake_time = self.clock.now(), count(), None
        self.trace = self.trace.fresh(self.scheduler, self.pool.num_blocks)
        reset_policy(self.scheduler)

    def check_invariants(self) -> None:
        """Raise InvariantError, naming what is wrong, if blocks or counters do not add up."""
        check_invariants(self.pool, self.scheduler, self._live.values(), self._loop.flights)

    def _enqueue(
        self, requests: Iterable[Request], parent: Sequence | None = None, *, enforce_limits: bool
    ) -> list[Sequence]:
        """Add all or none. parent: what they fork. enforce_limits: refuse at a full queue."""
        now = self.clock.now()
        new = take_in(requests, self._live, (now, self._start), self._names, self.model, self.pool)
        if enforce_limits:
            self._arrivals.check_limits(self.scheduler, new, now)

        def take() -> None:
            for sequence in new:
                sequence.parent, self._live[sequence.request_id] = parent, sequence
                self._arrivals.add(sequence)

        self._guard.run(take)
        return new

    def _complete(self, sequences: Iterable[Sequence]) -> None:
        for sequence in sequences:
            self.trace.complete(completion(sequence, self.model))
            self._live.pop(sequence.request_id, None)
            self.drafting.leave(sequence)
