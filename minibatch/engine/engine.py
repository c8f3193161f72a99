"""The loop: plan, run, update, record; around it, requests in and answers out.

Before changing this file: after an exception or a stop anywhere in `step`, the next one must go on.
`plan` may have admitted, preempted and taken blocks, and can be called again; tokens advance only
in `update`; what was torn apart further on (`Turn.whole`) is put right by recovery.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from ..core.clock import SAME_TIME, Clock, WallClock
from ..core.other_names import ENGINE, translates
from ..core.plan import StepPlan
from ..core.records import StepRecord
from ..core.request import Completion, Request, Sequence, TokenEvent
from ..memory.blocks import BlockPool
from ..memory.prefix import PrefixIndex
from ..memory.sharing import confirm, make_known, take_fork
from ..model.text import decode
from ..schedulers import Scheduler
from ..speculation.guesswork import Guesser, Guesswork
from .arrivals import Arrivals
from .intake import fork_requests, live_one, make_pool, make_runner, take_in
from .invariants import check_invariants
from .kinds import check_parts, check_plan, no_rows
from .recovery import settle
from .streaming import token_events
from .trace import Trace
from .turn import Turn

if TYPE_CHECKING:  # importing torch and transformers takes seconds; a pretend model needs neither
    from ..attention import AttentionFunction
    from ..model.load import Model


class Engine:
    """Serves requests on one model under one policy.

    num_blocks: KV blocks in the pool; None is enough for a full batch of longest sequences, or what
        half of free memory holds. block_size: tokens in each. pool: your own, in place of these.
    attention: "auto", "reference", "gather", "cpu", a kernel ("simple", "tiled", "split"), or a
        function like `minibatch.attention.reference_attention`. clock: None is real time.
    prefix_caching: whether requests that begin alike find each other's K and V.
    speculation: who guesses tokens ahead, such as `mb.PromptLookup()`; None is nobody.
    trace: what is remembered of the steps; None is all but the names of those who wait.
    cuda_graphs: whether decode steps on a GPU are recorded once and replayed (model/graphs.py).
    Its parts are its attributes: model, scheduler, pool, guesswork, clock, trace, and runner:
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
    ) -> None:
        check_parts(model, scheduler)
        self.model, self.scheduler, self.clock = model, scheduler, clock or WallClock()
        self.pool = pool = make_pool(model, scheduler.max_batch_size, num_blocks, block_size, pool)
        pool.prefixes = PrefixIndex(pool.num_blocks, pool.block_size) if prefix_caching else None
        self.guesswork = Guesswork(speculation, scheduler, model.vocab_size, model.max_model_len)
        self.runner = make_runner(model, pool, attention, scheduler.max_batch_size * cuda_graphs)
        self.trace = (trace or Trace()).fresh(scheduler, pool.num_blocks)
        scheduler.bind(self.pool, self.clock)  # last: what fails above must not use it up
        self._callbacks: list[Callable[[StepRecord], object]] = []
        self._live: dict[str, Sequence] = {}  # everything not yet finished, by id
        self._arrivals, self._names, self._turn = Arrivals(), count(), Turn(self._settle)
        self._start = self.clock.now()  # arrival times count from here
        self._wake_time: float | None = None  # until when the policy, without rows, waits

    # One step ------------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        """Whether a request is still to arrive, waits or runs."""
        return bool(self._live)

    def step(self, wait: bool = True) -> StepRecord | None:
        """One forward pass. Sleeps first if everyone is still to arrive, or the policy waits; with
        `wait=False` it answers None instead, and `next_event_time` says when to ask again. None,
        too, if all who were left have been refused or given up. Raises RuntimeError without work,
        or if the policy leaves requests waiting without saying until when."""
        with self._turn.whole():
            plan, scheduler = self._next_plan(wait), self.scheduler
            if plan is None:
                return None
            start_time = self.clock.now()
            self.guesswork.guess(plan)
            tokens, num_free_blocks = self.runner.run(plan), self.pool.num_free
            self.guesswork.take_back(tokens, plan)
            self.clock.tick(plan)
            confirm(self.pool, plan.copies)  # made, whatever becomes of the tokens
            times = start_time, self.clock.now()
            finished = scheduler.update(plan, tokens, times[1])
            make_known(self.pool, plan)
            record = self.trace.record(plan, tokens, finished, scheduler, times, num_free_blocks)
            for sequence in finished:
                self._complete(sequence)
        for callback in list(self._callbacks):
            callback(record)
        return record

    @property
    def next_event_time(self) -> float | None:
        """When `step` has something to compute: now, as a rule; later, when everyone is still to
        arrive or the policy waits; None without work."""
        if not self.has_work:
            return None
        time = self._wake_time
        if time is None and (self.scheduler.waiting or self.scheduler.running):
            time = self.clock.now()
        return self._arrivals.or_sooner(time)

    def _next_plan(self, wait: bool) -> StepPlan | None:
        if not self.has_work:
            raise RuntimeError("nothing to do: no request waits or runs; call engine.add first")
        while True:
            now, self._wake_time = self.clock.now(), None
            for sequence in self._arrivals.let_in(self.scheduler, now):
                self._complete(sequence)
            if not self.has_work:
                return None
            plan = self.scheduler.plan(now)
            check_plan(self.scheduler, plan)
            if plan.rows:
                self.scheduler.own_what_is_written(plan)
                self.scheduler.check(plan)
                return plan
            wake_time = self._arrivals.or_sooner(plan.wake_at)
            if wake_time is None or wake_time <= now:
                raise no_rows(self.scheduler, now)
            self._wake_time = wake_time
            if not wait:
                return None
            self.clock.sleep(max(wake_time - now, SAME_TIME))

    def _settle(self) -> None:
        for sequence in settle(self.scheduler, self.pool, self._live, self._arrivals):
            self._complete(sequence)

    # Requests in, answers out --------------------------------------------------------------------

    def add(self, request: Request) -> str:
        """Take a request in; returns its id. Raises ValueError, with the numbers, if it can never
        be served here, or if its id is live; QueueFull if the queue is full (`QueueLimits`), where
        one that comes later, or by `run`, ends as "refused"."""
        if not self.has_work:
            self._start = self.clock.now()
        return self._enqueue([request], knocks=True)[0].request_id

    def fork(self, request_id: str, n: int = 1) -> list[str]:
        """Ask for `n` more answers to the prompt of a live request; returns their ids. They queue
        like requests, each with a seed of its own, and hold what is computed of the prompt."""
        parent = live_one(request_id, self._live)
        new = self._enqueue(fork_requests(parent, n, self._live), parent)
        self._wake_time = None
        return [sequence.request_id for sequence in new]

    def abort(self, request_id: str) -> None:
        """End a request now; its blocks come back. Raises ValueError if no such request is live."""
        sequence = live_one(request_id, self._live)
        with self._turn.whole():
            self._wake_time, sequence.abort_time = None, self.clock.now()
            self.scheduler.abort(sequence)
            self._complete(sequence)

    def run(self, requests: Iterable[Request], progress: bool = False) -> list[Completion]:
        """Serve these to their ends; returns their completions in the order given. Interrupted or
        failed, it leaves its requests live: `step` goes on with them."""
        self._start = self.clock.now()
        sequences = self._enqueue(requests)
        unfinished = sequences[::-1]
        with tqdm(total=len(sequences), unit="request", disable=not progress) as bar:
            while unfinished:
                if unfinished[-1].is_finished:
                    unfinished.pop()
                    bar.update()
                else:
                    self.step()
        return [self._completion(sequence) for sequence in sequences]

    def stream(self, requests: Iterable[Request]) -> Iterator[TokenEvent]:
        """Serve these, yielding each token as it comes. Closing the iterator aborts the rest;
        interrupted or failed, it leaves them live, as `run` does."""
        self._start = self.clock.now()
        yield from token_events(self, self._enqueue(requests))

    def on_step(self, callback: Callable[[StepRecord], object]) -> Callable[[StepRecord], object]:
        """Call this with the record of every step to come. Also serves as a decorator."""
        self._callbacks.append(callback)
        return callback

    def off_step(self, callback: Callable[[StepRecord], object]) -> None:
        """Call this no more. Raises ValueError if `on_step` does not know it."""
        if callback not in self._callbacks:
            raise ValueError(f"{callback!r} was never given to on_step, or is off already")
        self._callbacks.remove(callback)

    def reset(self) -> None:
        """Abort every request, forget every record, set the clock back, and make queues and pool
        anew, whatever state a fault has left them in. Callbacks stay."""
        scheduler = self.scheduler
        with self._turn:
            try:
                for request_id in list(self._live):
                    self.abort(request_id)
            finally:
                for everyone in (scheduler.waiting, scheduler.running, self._live, self._arrivals):
                    everyone.clear()
                self.pool.reset()
                self.guesswork.reset()
                self._turn.forget()
                self.clock.reset()
                self._start, self._names, self._wake_time = self.clock.now(), count(), None
                self.trace = self.trace.fresh(scheduler, self.pool.num_blocks)

    def check_invariants(self) -> None:
        """Raise InvariantError, naming what is wrong, if blocks or counters do not add up."""
        check_invariants(self.pool, self.scheduler, self._live.values())

    def _enqueue(
        self, requests: Iterable[Request], parent: Sequence | None = None, knocks: bool = False
    ) -> list[Sequence]:
        """All or none. parent: whose prompt they share, and are here. knocks: at a full queue?"""
        times = self.clock.now(), self._start
        new = take_in(requests, self._live, times, self._names, self.model, self.pool)
        self._arrivals.check_door(self.scheduler, new if knocks else (), times[0])
        with self._turn.whole():
            self._live |= {sequence.request_id: sequence for sequence in new}
            for sequence in new:
                if parent is None:
                    self._arrivals.add(sequence)
                    continue
                take_fork(self.pool, sequence, parent)
                self.scheduler.add(sequence)
        return new

    def _complete(self, sequence: Sequence) -> None:
        self.trace.complete(self._completion(sequence))
        self.guesswork.leave(sequence)
        self._live.pop(sequence.request_id, None)

    def _completion(self, sequence: Sequence) -> Completion:
        output = sequence.token_ids[sequence.num_prompt_tokens :]
        return sequence.completion(decode(self.model.tokenizer, output, sequence.stop_token_ids))
