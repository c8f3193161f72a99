"""The loop: plan, run, update, record. Everything else here is taking requests in and handing
answers out.

Before changing this file: `step` must leave nothing half done when the forward pass raises or is
interrupted. `plan` may have admitted, preempted and taken blocks, which is why it can be called
again; tokens and counters move only in `update`.
"""

from __future__ import annotations

import bisect
import itertools
import math
import secrets
from collections.abc import Callable, Collection, Iterable, Iterator

import psutil
import torch
from tqdm.auto import tqdm

from . import attention as attention_backends
from .attention import AttentionFunction
from .blocks import BlockPool
from .clock import SAME_TIME, Clock, WallClock
from .invariants import check_invariants
from .kv_cache import bytes_per_token
from .model import Model
from .plan import StepPlan
from .request import Completion, Request, Sequence, TokenEvent
from .runner import ModelRunner
from .schedulers import Scheduler
from .text import TextStream, decode
from .trace import Before, StepRecord, Trace, kind_of


class Engine:
    """Serves requests on one model under one policy.

    num_blocks: KV blocks in the pool; None is enough for `max_batch_size` sequences of
        `max_model_len`, or what half of the free memory holds, if that is less.
    block_size: tokens in a block. attention: "auto", "reference", "gather", "cpu", or a function
        like `minibatch.attention.reference_attention`. clock: None is real time.
    """

    def __init__(
        self,
        model: Model,
        scheduler: Scheduler,
        *,
        num_blocks: int | None = None,
        block_size: int = 16,
        attention: str | AttentionFunction = "auto",
        clock: Clock | None = None,
    ) -> None:
        if block_size < 1:
            raise ValueError(f"block_size is {block_size}; it must be 1 or more")
        if num_blocks is None:
            num_blocks = default_num_blocks(model, scheduler.max_batch_size, block_size)
        function = attention_backends.choose(attention, model.device)
        self.model = model
        self.scheduler = scheduler
        self.clock = clock or WallClock()
        self.pool = BlockPool(num_blocks, block_size)
        self.runner = ModelRunner(model, num_blocks, block_size, function)
        scheduler.bind(self.pool, self.clock)  # last: what fails above must not use it up
        self._callbacks: list[Callable[[StepRecord], object]] = []
        self._live: dict[str, Sequence] = {}  # everything not yet finished, by id
        self._arriving: list[Sequence] = []  # not yet arrived, soonest first
        self._names = itertools.count()
        self._start = self.clock.now()  # arrival times count from here
        self.trace = Trace(scheduler.max_batch_size, num_blocks)

    # One step ------------------------------------------------------------------------------------

    @property
    def has_work(self) -> bool:
        return bool(self._live)

    def step(self) -> StepRecord:
        """One forward pass. Sleeps first if everyone is still to arrive, or the policy waits.

        Raises RuntimeError if there is nothing to do, or if the policy leaves requests waiting
        without saying until when.
        """
        plan = self._next_plan()
        scheduler = self.scheduler
        scheduler.check(plan)
        kinds = [kind_of(row) for row in plan.rows]
        before = Before(self.clock.now(), self.pool.num_free, kinds)
        tokens = self.runner.run(plan)
        self.clock.tick()
        finished = scheduler.update(plan, tokens, self.clock.now())
        record = self.trace.record(plan, tokens, finished, scheduler, before, self.clock.now())
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
                self.scheduler.add(self._arriving.pop(0))
            plan = self.scheduler.plan(now)
            if plan.rows:
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
        return self._enqueue([request])[0].request_id

    def abort(self, request_id: str) -> None:
        """End a request now; its blocks come back. Raises ValueError if no such request is live."""
        sequence = self._live.get(request_id)
        if sequence is None:
            live = ", ".join(repr(name) for name in self._live) or "none"
            raise ValueError(f"no live request {request_id!r} to abort; live: {live}")
        self._forget(sequence)
        sequence.finish("abort", self.clock.now())
        self._complete(sequence)

    def run(self, requests: Iterable[Request], progress: bool = False) -> list[Completion]:
        """Serve these to their ends; returns their completions in the order given.

        Interrupted or failed, it leaves its requests live: `step` goes on with them.
        """
        self._start = self.clock.now()
        sequences = self._enqueue(requests)
        bar = tqdm(total=len(sequences), unit="request", disable=not progress)
        with bar:
            while any(not sequence.is_finished for sequence in sequences):
                self.step()
                bar.update(sum(sequence.is_finished for sequence in sequences) - bar.n)
        return [self._completion(sequence) for sequence in sequences]

    def stream(self, requests: Iterable[Request]) -> Iterator[TokenEvent]:
        """Serve these, yielding each token as it comes. Closing the iterator aborts the rest."""
        self._start = self.clock.now()
        sequences = self._enqueue(requests)
        texts = [TextStream(self.model.tokenizer, s.stop_token_ids) for s in sequences]
        shown = [0] * len(sequences)
        try:
            while any(not sequence.is_finished for sequence in sequences):
                self.step()
                for i, sequence in enumerate(sequences):
                    while shown[i] < sequence.num_output_tokens:
                        token_id = sequence.token_ids[sequence.num_prompt_tokens + shown[i]]
                        shown[i] += 1
                        last = sequence.is_finished and shown[i] == sequence.num_output_tokens
                        text = texts[i].push(token_id, last)
                        reason = sequence.finish_reason if last else None
                        yield TokenEvent(sequence.request_id, token_id, text, reason)
        except GeneratorExit:
            for sequence in sequences:
                if not sequence.is_finished:
                    self.abort(sequence.request_id)

    def on_step(self, callback: Callable[[StepRecord], object]) -> Callable[[StepRecord], object]:
        """Call this with the record of every step to come. Also serves as a decorator."""
        self._callbacks.append(callback)
        return callback

    def reset(self) -> None:
        """Forget every request and record, and set the clock back, as if newly made."""
        for sequence in list(self._live.values()):
            self._forget(sequence)
        self._live.clear()
        self.clock.reset()
        self._start = self.clock.now()
        self.trace = Trace(self.scheduler.max_batch_size, self.pool.num_blocks)

    def check_invariants(self) -> None:
        """Raise InvariantError, naming what is wrong, if blocks or counters do not add up."""
        check_invariants(self.pool, self.scheduler, self._live.values())

    def _enqueue(self, requests: Iterable[Request]) -> list[Sequence]:
        """All of them, or none if one is refused."""
        sequences: dict[str, Sequence] = {}
        for request in requests:
            sequence = self._sequence(request, taken=sequences)
            sequences[sequence.request_id] = sequence
        self._live |= sequences
        for sequence in sequences.values():
            bisect.insort(self._arriving, sequence, key=lambda s: s.arrival_time)
        return list(sequences.values())

    def _sequence(self, request: Request, taken: Collection[str]) -> Sequence:
        numbered = map("request-{}".format, self._names)
        unused = (n for n in numbered if n not in self._live and n not in taken)
        name = request.request_id or next(unused)
        if name in self._live or name in taken:
            raise ValueError(
                f"request {name!r} is live already; wait for its end, or abort it first"
            )
        prompt = request.prompt
        token_ids = self.model.encode(prompt) if isinstance(prompt, str) else list(prompt)
        self._check_fits(name, token_ids, request.max_tokens)
        eos = () if request.ignore_eos else self.model.eos_token_ids
        now = self.clock.now()
        return Sequence(
            request=request,
            request_id=name,
            token_ids=token_ids,
            num_prompt_tokens=len(token_ids),
            stop_token_ids=frozenset(eos) | frozenset(request.stop_token_ids),
            seed=secrets.randbits(63) if request.seed is None else request.seed,
            arrival_time=now
            if request.arrival_time is None
            else self._start + request.arrival_time,
        )

    def _check_fits(self, name: str, prompt: list[int], max_tokens: int) -> None:
        """Refuse what could never be computed, rather than let it wait for ever."""
        outside = [i for i in prompt if not 0 <= i < self.model.vocab_size]
        if outside:
            raise ValueError(
                f"request {name!r}: token id {outside[0]} is outside the vocabulary, "
                f"0 to {self.model.vocab_size - 1:,}"
            )
        total = len(prompt) + max_tokens
        needs = f"request {name!r} needs {len(prompt):,} + {max_tokens:,} tokens"
        if total > self.model.max_model_len:
            raise ValueError(
                f"{needs} = {total:,}; this model's context holds {self.model.max_model_len:,}. "
                "Shorten the prompt or lower max_tokens."
            )
        num_blocks = math.ceil(total / self.pool.block_size)
        if num_blocks > self.pool.num_blocks:
            raise ValueError(
                f"{needs} = {num_blocks:,} blocks of {self.pool.block_size}; this engine has "
                f"{self.pool.num_blocks:,}. Raise num_blocks or lower max_tokens."
            )

    def _forget(self, sequence: Sequence) -> None:
        if sequence in self._arriving:
            self._arriving.remove(sequence)
        else:
            self.scheduler.abort(sequence)

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


def default_num_blocks(model: Model, max_batch_size: int, block_size: int) -> int:
    """Blocks for a full batch of longest sequences, or as many as half of the free memory holds."""
    if model.device.type == "cuda":
        free_bytes, _ = torch.cuda.mem_get_info(model.device)
    else:
        free_bytes = psutil.virtual_memory().available
    bytes_per_block = block_size * bytes_per_token(model.kv_shapes, model.dtype)
    affordable = free_bytes // 2 // bytes_per_block
    if affordable < 1:
        raise MemoryError(
            f"one KV block of {block_size} tokens takes {bytes_per_block:,} bytes, and half of the "
            f"free memory is {free_bytes // 2:,}; use a smaller block_size or model"
        )
    return min(affordable, max_batch_size * math.ceil(model.max_model_len / block_size))
