"""What happened: one record for each step, read by plots, metrics and learners.

Slots are assigned here: a request gets the lowest free slot when it is admitted, and the slot is
free again when it stops running. Policies do not know of slots.
"""

from __future__ import annotations

import heapq
import json
import os
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from ..core.completion import Completion
from ..core.plan import Kind, Row, StepPlan
from ..core.records import Lane, Lookup, SharingRecord, StepRecord, StepTimes
from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..schedulers import Scheduler
from .chrome_trace import chrome_events
from .metrics import Latencies, Summary, Totals, summary_of


@dataclass
class Begun:
    """A step that was planned and is not recorded yet.

    start_time, planned, launched: when its plan was begun, made, and handed over. num_free_blocks:
    while it runs. forward: begin and end of the forward pass, None if it ended as the step did.
    With overlap, two steps are begun at a time, and this tells them apart: news: what the prefix
    cache reported while this plan was made. in_flight: sequences that keep their slots after this
    step, since the next one was launched with them. gone: sequences whose rows of this step came
    to nothing.
    """

    start_time: float = 0.0
    num_free_blocks: int = 0
    planned: float = 0.0
    launched: float = 0.0
    forward: Lane | None = None
    news: tuple[tuple[Lookup, ...], int] | None = None
    in_flight: Collection[Sequence] = ()
    gone: Collection[Sequence] = ()


class Trace:
    """Steps and completions since the engine was made or reset.

    keep: how many of the newest steps and completions are kept; None is all. The summary covers the
    whole run either way. names: whether records name the waiting requests (`StepRecord.waiting`).
    latencies: whether those of all requests are stored, 8 bytes a token; a server that runs for
    months sets False, and the summary then counts no request.
    policy, max_batch_size, num_blocks: the engine's: its scheduler's class name, most rows of a
    step, and KV blocks. begun: the step that is recorded next.
    """

    def __init__(
        self, keep: int | None = None, names: bool = False, latencies: bool = True
    ) -> None:
        if keep is not None and keep < 0:
            raise ValueError(f"keep is {keep}; give 0 or more, or None for all")
        self.keep, self.names, self.latencies = keep, names, latencies
        self.policy, self.max_batch_size, self.num_blocks = "", 0, 0  # until an engine has it
        self._steps: deque[StepRecord] | list[StepRecord] = self._shelf()
        self._completions: deque[Completion] | list[Completion] = self._shelf()
        self._slots: dict[Sequence, int] = {}  # of running sequences; an id may be used again
        self._free_slots: list[int] = []  # a heap, of slots that were in use before
        self.begun = Begun()
        self._requeued: tuple[str, ...] = ()
        self._totals, self._latencies = Totals(), Latencies()
        self._ended: tuple[int, object] = 0, None  # how many requests, and the newest one's times

    def fresh(self, scheduler: Scheduler, num_blocks: int) -> Trace:
        """An empty trace with the same options, for an engine of this policy and size."""
        trace = Trace(self.keep, self.names, self.latencies)
        trace.policy, trace.num_blocks = type(scheduler).__name__, num_blocks
        trace.max_batch_size = scheduler.max_batch_size
        return trace

    def _shelf(self) -> deque | list:
        return [] if self.keep is None else deque(maxlen=self.keep)

    @property
    def steps(self) -> list[StepRecord]:
        """The records that are kept, oldest first. Times are seconds on the engine's clock."""
        return self._steps if self.keep is None else list(self._steps)

    @property
    def completions(self) -> list[Completion]:
        """The requests that have ended, in that order."""
        return self._completions if self.keep is None else list(self._completions)

    @property
    def num_steps(self) -> int:
        """How many steps there were, kept or not."""
        return self._totals.num_steps

    def begin(self, start_time: float, num_free_blocks: int, planned: float) -> None:
        """A step begins. num_free_blocks: while it runs. planned: when its plan was made. If it
        fails, another begins."""
        self.begun = Begun(start_time, num_free_blocks, planned, planned)

    def requeue(self, sequences: Iterable[Sequence]) -> None:
        """An exception put these back into the queue: nothing runs, and every slot is free."""
        self._requeued = tuple(dict.fromkeys((*self._requeued, *_names(sequences))))
        self._slots.clear()
        self._free_slots.clear()

    def record(
        self,
        plan: StepPlan,
        tokens: list[list[int]],
        finished: list[Sequence],
        scheduler: Scheduler,
        end_time: float,
    ) -> StepRecord:
        """Record the step that began last. end_time: seconds on the engine's clock."""
        begun = self.begun
        running = {*scheduler.running, *begun.in_flight}
        here = running.union([row.sequence for row in plan.rows])
        preempted = [s for s in self._slots if s not in here and not s.is_finished]
        self._free_slots_except(here)
        admitted = [row.sequence for row in plan.rows if row.sequence not in self._slots]
        for sequence in admitted:
            self._slots[sequence] = (
                heapq.heappop(self._free_slots) if self._free_slots else len(self._slots)
            )
        step = StepRecord(
            index=self.num_steps,
            start_time=begun.start_time,
            end_time=end_time,
            times=_times(begun, end_time, scheduler.clock.now()),
            row_values=tuple(
                [
                    (
                        row.sequence.request_id,
                        self._slots[row.sequence],
                        _kind(row, begun),
                        row.num_tokens,
                        row.num_padding_tokens,
                        tuple(row.sequence.token_ids[row.seq_len :]) if new else (),
                        tuple(row.draft),
                    )
                    for row, new in zip(plan.rows, tokens, strict=True)
                ]
            ),
            num_waiting=len(scheduler.waiting),
            waiting_names=_names(scheduler.waiting) if self.names else None,
            sharing=_sharing(scheduler.pool, begun.news),
            recomputed=_recomputed(plan),
            admitted=_names(admitted),
            finished=_names(finished),
            preempted=_names(preempted),
            requeued=self._requeued,
            num_free_blocks=begun.num_free_blocks,
        )
        while self._steps and self._steps[-1].index >= step.index:
            self._steps.pop()  # an interrupted call has left it
        self._steps.append(step)
        self._totals, self._requeued = self._totals.plus(step), ()
        self._free_slots_except(running)
        return step

    def complete(self, completion: Completion) -> None:
        """Record a request's end. A second call for it, after an interruption, changes nothing."""
        number, newest = self._ended
        if completion.token_times is newest:
            return
        if self.is_newest(completion):
            self._completions.pop()
        self._completions.append(completion)
        if self.latencies:
            self._latencies.put(number, completion)
        self._ended = number + 1, completion.token_times

    def is_newest(self, ended: Completion | Sequence) -> bool:
        """Whether this is the request whose end was recorded last, or was about to be."""
        last = self._completions[-1].token_times if self._completions else None
        return ended.token_times is last or ended.token_times is self._ended[1]

    def is_not_newest(self, sequence: Sequence) -> bool:
        """A key that sorts such a request first."""
        return not self.is_newest(sequence)

    def _free_slots_except(self, still_here: set[Sequence]) -> None:
        for sequence in [s for s in self._slots if s not in still_here]:
            heapq.heappush(self._free_slots, self._slots.pop(sequence))

    def summary(self) -> Summary:
        """Throughput, latencies and utilisation, by the names in `metrics`: seconds (`_s`), tokens
        per second (`_per_s`), shares from 0 to 1, and counts; None where there is nothing yet."""
        return summary_of(self._totals, self._latencies, self.max_batch_size, self.num_blocks)

    def to_jsonl(self, path: str | os.PathLike) -> None:
        """Write one line of JSON for every step that is kept, in order."""
        with Path(path).open("w", encoding="utf-8") as file:
            for step in self.steps:
                line = asdict(step) | {"rows": [row._asdict() for row in step.rows]}
                del line["row_values"]
                file.write(json.dumps(line) + "\n")

    def to_chrome_trace(self, path: str | os.PathLike) -> None:
        """Write slots as threads, for https://ui.perfetto.dev or chrome://tracing, in µs."""
        events = list(chrome_events(self.steps, self.num_blocks))
        Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))


def _kind(row: Row, begun: Begun) -> Kind:
    return "wasted" if row.num_tokens and row.sequence in begun.gone else row.kind


def _times(begun: Begun, end_time: float, now: float) -> StepTimes:
    plan, launch = (begun.start_time, begun.planned), (begun.planned, begun.launched)
    return StepTimes(plan, launch, begun.forward or (begun.launched, end_time), (end_time, now))


def _sharing(pool: BlockPool, news: tuple[tuple[Lookup, ...], int] | None) -> SharingRecord | None:
    """What this step shared; None without a prefix cache and shared blocks. news: of the prefix
    cache; None asks it."""
    if pool.prefixes is None and not pool.num_shared:
        return None
    lookups, num_evicted = news or (((), 0) if pool.prefixes is None else pool.prefixes.take_news())
    return SharingRecord(lookups, num_evicted, pool.num_shared, pool.num_cached)


def _names(sequences: Iterable[Sequence]) -> tuple[str, ...]:
    return tuple([sequence.request_id for sequence in sequences])


def _recomputed(plan: StepPlan) -> tuple[tuple[str, int], ...]:
    """Requests that compute tokens again which they lost to a preemption, and how many."""
    again = [
        (row.sequence.request_id, min(row.seq_len, row.sequence.num_once_computed) - row.start)
        for row in plan.rows
        if row.start < row.sequence.num_once_computed
    ]
    return tuple([(name, num_tokens) for name, num_tokens in again if num_tokens > 0])
