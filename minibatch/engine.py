"""The loop: plan, run, update, record. Everything else here is taking requests in and handing
answers out.

Before changing this file: `step` must leave nothing half done when the forward pass raises or is
interrupted. `plan` may have admitted, preempted and taken blocks, which is why it can be called
again; tokens and counters advance only in `update`.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from tqdm.auto import tqdm

from .attention import AttentionFunction, choose
from .blocks import BlockPool
from .clock import SAME_TIME, Clock, WallClock
from .intake import default_num_blocks, to_sequence
from .invariants import check_invariants
from .plan import StepPlan
from .records import StepRecord
from .request import Completion, Request, Sequence, TokenEvent
from .schedulers import Scheduler
from .text import Listener, TextStream, decode
from .trace import Trace

if TYPE_CHECKING:  # importing transformers' models takes seconds, and not every engine has one
    from .model import Model


class Engine:
    """Serves requests on one model under one policy.

    num_blocks: KV blocks in the pool; None is enough for `max_batch_size` sequences of
        `max_model_len`, or what half of the free memory holds, if that is less.
    block_size: tokens in a block. pool: one of your own, in place of these two.
    attention: "auto", "reference", "gather", "cpu", a kernel ("simple", "tiled", "split"), or a
        function like `minibatch.attention.reference_attention`. clock: None is real time.
    """

    def __init__(
        self,
        model: Model,
        scheduler: Scheduler,
        *,
        num_blocks: int | None = None,
        block_size: int = 16,
        pool: BlockPool | None = None,
        attention: str | AttentionFunction = "auto",
        clock: Clock | None = None,
    ) -> None:
        if isinstance(scheduler, type):
            name = scheduler.__name__
            raise TypeError(f"{name} is a class; make a policy of it first: {name}()")
        if pool is None:
            if num_blocks is None:
                num_blocks = default_num_blocks(model, scheduler.max_batch_size, block_size)
            pool = BlockPool(num_blocks, block_size)
        function = choose(attention, model.device)
        self.model = model
        self.scheduler = scheduler
        self.clock = clock or WallClock()
        self.pool = pool
        self.runner = model.runner(pool, function)
        scheduler.bind(self.pool, self.clock)  # last: what fails above must not use it up
        self._callbacks: list[Callable[[StepRecord], object]] = []
        self._live: dict[str, Sequence] = {}  # everything not yet finished, by id
        self._arriving: list[Sequence] = []  # not yet arrived, soonest first
        self._names = itertools.count()
        self._start = self.clock.now()  # arrival times count from here
        self.trace = Trace(scheduler.max_batch_size, pool.num_blocks)

    # One step ------------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        return bool(self._live)

    def step(self) -> StepRecord:
        """One forward pass. Sleeps first if everyone is still to arrive, or the policy waits.

        Raises RuntimeError if there is nothing to do, or if the policy leaves requests waiting
        without saying until when.
        """
        plan, scheduler = self._next_plan(), self.scheduler
        start_time, num_free_blocks = self.clock.now(), self.pool.num_free
        tokens = self.runner.run(plan)
        self.clock.tick()
        end_time = self.clock.now()
        finished = scheduler.update(plan, tokens, end_time)
        times = start_time, end_time
        record = self.trace.record(plan, tokens, finished, scheduler, times, num_free_blocks)
        for sequence in finished:
            self._complete(sequence)
        for callback in self._callbacks:
            callback(record)
        return record

    def _next_plan(self) -> StepPlan:
        if not self.has_work:
            raise RuntimeError("nothing to do: no request waits or runs; call engine.add first")
        while True:
            now = self.clock.now()
            while self._arriving and self._arriving[0].arrival_time <= now:
                self.scheduler.add(self._arriving[0])
                del self._arriving[0]
            plan = self.scheduler.plan(now)
            if plan.rows:
                self.scheduler.check(plan)
                return plan
            wake_times = [] if plan.wake_at is None else [plan.wake_at]
            wake_times += [sequence.arrival_time for sequence in self._arriving[:1]]
            if not wake_times or min(wake_times) <= now:
                raise RuntimeError(
                    f"{type(self.scheduler).__name__}.plan gave no rows at {now:.3f} s, though "
                    f"{len(self.scheduler.waiting)} requests wait and "
                    f"{len(self.scheduler.running)} run; plan a row, or set wake_at to a later time"
                )
            self.clock.sleep(max(min(wake_times) - now, SAME_TIME))

    # Requests in, answers out --------------------------------------------------------------------

    def add(self, request: Request) -> str:
        """Take a request in; returns its id. Raises ValueError, naming the numbers, if it can never
        be served here or its id is in use by a live request."""
        if not self.has_work:
            self._start = self.clock.now()
        return self._enqueue([request])[0].request_id

    def abort(self, request_id: str) -> None:
        """End a request now; its blocks come back. Raises ValueError if no such request is live."""
        sequence = self._live.get(request_id)
        if sequence is None:
            live = ", ".join(repr(name) for name in self._live) or "none"
            raise ValueError(f"no live request {request_id!r} to abort; live: {live}")
        if sequence in self._arriving:
            self._arriving.remove(sequence)
        self.scheduler.abort(sequence)
        sequence.finish("abort", self.clock.now())
        self._complete(sequence)

    def run(self, requests: Iterable[Request], progress: bool = False) -> list[Completion]:
        """Serve these to their ends; returns their completions in the order given.

        Interrupted or failed, it leaves its requests live: `step` goes on with them.
        """
        self._start = self.clock.now()
        sequences = self._enqueue(requests)
        with tqdm(total=len(sequences), unit="request", disable=not progress) as bar:
            while any(not sequence.is_finished for sequence in sequences):
                self.step()
                bar.update(sum(sequence.is_finished for sequence in sequences) - bar.n)
        return [self._completion(sequence) for sequence in sequences]

    def stream(self, requests: Iterable[Request]) -> Iterator[TokenEvent]:
        """Serve these, yielding each token as it comes. Closing the iterator aborts the rest;
        interrupted or failed, it leaves them live, as `run` does."""
        self._start = self.clock.now()
        sequences = self._enqueue(requests)
        texts = [TextStream(self.model.tokenizer, s.stop_token_ids) for s in sequences]
        listeners = [Listener(s, text) for s, text in zip(sequences, texts, strict=True)]
        try:
            while not all(listener.done for listener in listeners):
                if not all(sequence.is_finished for sequence in sequences):
                    self.step()
                for listener in listeners:
                    yield from listener.news()
        except GeneratorExit:
            for sequence in sequences:
                if not sequence.is_finished:
                    self.abort(sequence.request_id)

    def on_step(self, callback: Callable[[StepRecord], object]) -> Callable[[StepRecord], object]:
        """Call this with the record of every step to come. Also serves as a decorator."""
        self._callbacks.append(callback)
        return callback

    def reset(self) -> None:
        """Abort every request, forget every record, and set the clock back. Callbacks stay."""
        for request_id in list(self._live):
            self.abort(request_id)
        self.clock.reset()
        self._start, self._names = self.clock.now(), itertools.count()
        self.trace = Trace(self.scheduler.max_batch_size, self.pool.num_blocks)

    def check_invariants(self) -> None:
        """Raise InvariantError, naming what is wrong, if blocks or counters do not add up."""
        check_invariants(self.pool, self.scheduler, self._live.values())

    def _enqueue(self, requests: Iterable[Request]) -> list[Sequence]:
        """All of them, or none if one is refused."""
        sequences: dict[str, Sequence] = {}
        for request in [requests] if isinstance(requests, Request) else requests:
            if not isinstance(request, Request):
                raise TypeError(f"{request!r} is no request; make one: Request({request!r})")
            name = self._name(request, self._live.keys() | sequences.keys())
            delay = request.arrival_time
            arrival_time = self.clock.now() if delay is None else self._start + delay
            sequences[name] = to_sequence(request, name, arrival_time, self.model, self.pool)
        self._live |= sequences
        for sequence in sequences.values():
            bisect.insort(self._arriving, sequence, key=lambda s: s.arrival_time)
        return list(sequences.values())

    def _name(self, request: Request, taken: Collection[str]) -> str:
        """The request's own id, or the next number that is not in use."""
        if request.request_id in taken:
            raise ValueError(
                f"request {request.request_id!r} is live already; wait for its end, abort it, or "
                "begin anew with engine.reset()"
            )
        numbered = map("request-{}".format, self._names)
        return request.request_id or next(name for name in numbered if name not in taken)

    def _complete(self, sequence: Sequence) -> None:
        del self._live[sequence.request_id]
        self.trace.completions.append(self._completion(sequence))

    def _completion(self, sequence: Sequence) -> Completion:
        output = sequence.token_ids[sequence.num_prompt_tokens :]
        return Completion(
            request_id=sequence.request_id,
            prompt_token_ids=sequence.token_ids[: sequence.num_prompt_tokens],
            token_ids=output,
            text=decode(self.model.tokenizer, output, sequence.stop_token_ids),
            finish_reason=sequence.finish_reason,
            arrival_time=sequence.arrival_time,
            first_scheduled_time=sequence.first_scheduled_time,
            first_token_time=sequence.token_times[0] if sequence.token_times else None,
            finish_time=sequence.finish_time,
            token_times=sequence.token_times,
        )
