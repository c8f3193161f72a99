"""Overlapped scheduling, `Engine(overlap=True)`: plan and launch step n + 1 while step n runs.

    Engine._step    plan n    run n                 update, record n    plan n + 1    run n + 1
    Overlap.step    plan n + 1, launch n + 1        collect n           plan n + 2, launch n + 2
    the device      …      run n                    run n + 1                         …

A row of step n + 1 may begin with a token that step n has not sampled yet. The policy plans it
without the token (`Sequence.num_in_flight`), and the device reads the token where step n leaves it.
Four rules make the tokens those of the other loop:

1. Only `collect` moves the counter of computed tokens. So a fork, and the prefix cache, share K and
   V of collected steps only.
2. The end of an answer by its length is known before its last token. A stop token is known one step
   late: step n + 1 has a row for an answer that has ended. That row is *wasted*; its token is
   dropped, and its record has the kind "wasted".
3. The blocks of a request that ends or is preempted while a row of it is in flight become free when
   that row's step has been executed (held_blocks.py). They come back sooner only in a wrong engine.
4. An error in step n, or an interrupt, discards step n + 1 too, once it has been executed. Then the
   steps go in order, until every request that ran has a new token: so an error that comes again is
   of the step that raises it, and a server can find its row (server/isolation.py).

Speculation is refused: a draft follows the newest token, which is not known. While the pool has too
few free blocks for all running requests, the step in flight is collected before the next plan: the
policy then preempts as it does in the other loop, or not at all. (vLLM: async scheduling; SGLang:
overlap scheduler; mini-sglang: `overlap_loop` beside `normal_loop`)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ..core.plan import Row, StepPlan
from ..core.records import StepRecord
from ..core.request import Sequence
from .argument_checks import check_finished
from .held_blocks import Executed, Flight, HeldBlocks

if TYPE_CHECKING:
    from .engine import Engine


class InOrder:
    """The loop of an engine without overlap: each step ends before the next one is planned."""

    flights: tuple[Flight, ...] = ()

    def __init__(self, engine: Engine) -> None:
        self.step = engine._step

    def collect_dead(self) -> list[StepRecord]:
        """Nothing is in flight."""
        return []

    def discard(self, failed: bool = False) -> None:
        """Nothing is in flight."""


class Overlap:
    """The loop of an engine whose steps overlap. flights: the steps that were launched and not
    collected, oldest first: one between two calls of `Engine.step`, two while it runs. suspects:
    the requests that ran when a step failed, and how many tokens they had."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.flights: list[Flight] = []
        self.suspects: dict[Sequence, int] = {}
        self.is_planning = self._is_stepping = False
        self._device_free = 0.0  # when a modelled device has executed what was launched
        engine.scheduler.blocks = HeldBlocks(engine.pool, self)

    def step(self, wait: bool) -> list[StepRecord]:
        """What `Engine._step` does, one step ahead. Returns the record of the step collected, and
        of one that was launched for answers that have all ended; none if there is no plan yet."""
        self.suspects = {s: n for s, n in self.suspects.items() if _has_not_moved(s, n)}
        if self.suspects:
            return self.engine._step(wait)
        self._is_stepping = True
        if not self.flights:
            plan = self.engine._next_plan(wait)
            if plan is None:
                self._is_stepping = False
                return []
            self._launch(plan)
        self._launch_next()
        record = self._collect()
        self._is_stepping = False
        return [record, *self.collect_dead()]

    def collect_dead(self) -> list[StepRecord]:
        """Collect steps in flight that compute nothing for a live request: frees their blocks."""
        records = []
        while self.flights and not self._is_stepping and not self.flights[0].is_alive():
            records.append(self._collect())
        return records

    def discard(self, failed: bool = False) -> None:
        """Wait for every step in flight, and forget them. The caller puts their requests back into
        the queue. failed: after an error; else they are forgotten, too."""
        self.suspects |= {s: s.num_tokens for s in self.engine.scheduler.running}
        self.suspects = self.suspects if failed else {}
        if settle := getattr(self.engine.runner, "settle", None):
            settle()
        for flight in self.flights:
            for sequence in flight.sequences:
                sequence.num_in_flight = 0
        self.flights.clear()
        self.is_planning = self._is_stepping = False
        self._device_free = 0.0

    # Launch ---------------------------------------------------------------------------------------

    def _launch_next(self) -> None:
        """Plan and launch the next step, unless there is nothing to compute yet, or too few blocks
        are free to plan it without the step in flight."""
        engine, scheduler = self.engine, self.engine.scheduler
        if self._lacks_blocks():
            return
        now, ran = engine.clock.now(), list(scheduler.running)
        self.is_planning = True
        plan = engine._ask_policy(now)
        self.is_planning = False
        if plan is None:
            return
        plan.rows = [row for row in plan.rows if not _awaits_only_its_end(row)]
        self.flights[0].preempted = set(ran).difference(scheduler.running)
        if plan.rows:
            scheduler.check(plan)
            engine.trace.begin(now, engine.pool.num_free, engine.clock.planned())
            self._launch(plan)

    def _lacks_blocks(self) -> bool:
        scheduler, pool = self.engine.scheduler, self.engine.pool
        most = scheduler.max_batch_tokens or math.inf
        needed = sum(
            sequence.num_new_blocks(min(most, sequence.num_uncomputed_tokens), pool.block_size)
            for sequence in scheduler.running
            if not sequence.is_finished
        )
        return needed > pool.num_free

    def _launch(self, plan: StepPlan) -> None:
        engine, clock = self.engine, self.engine.clock
        before = self.flights[-1].handle if self.flights else None
        if launch := getattr(engine.runner, "launch", None):
            handle = launch(plan, before, clock.now)
        else:
            handle = Executed(engine, plan)
        flight = Flight(plan, handle, engine.trace.begun, engine.pool.block_size)
        self.flights.append(flight)
        for row in plan.rows:
            row.sequence.num_in_flight += row.num_tokens
        flight.begun.launched = clock.now()
        if engine.pool.prefixes is not None:
            flight.begun.news = engine.pool.prefixes.take_news()
        if hasattr(clock, "step_seconds"):  # a virtual clock: the device is modelled, too
            begin = max(clock.now(), self._device_free)
            self._device_free = begin + clock.step_seconds(plan)
            flight.begun.forward = begin, self._device_free

    # Collect --------------------------------------------------------------------------------------

    def wait(self, flight: Flight) -> None:
        """Return when a step has been executed; its error, if it has one, comes from `collect`."""
        flight.handle.wait()
        if hasattr(self.engine.clock, "step_seconds"):
            self.engine.clock.sleep(flight.begun.forward[1] - self.engine.clock.now())

    def _collect(self) -> StepRecord:
        """Take in the oldest step in flight: sequences advance and retire, blocks become free."""
        engine, scheduler = self.engine, self.engine.scheduler
        flight = self.flights[0]
        self.wait(flight)
        tokens = self._tokens_of(flight)
        if not hasattr(engine.clock, "step_seconds"):
            flight.begun.forward = flight.handle.times
            engine.clock.tick(flight.plan)
        del self.flights[0]
        now = engine.clock.now()

        rows = list(zip(flight.plan.rows, tokens, strict=True))
        moving = [(row, new) for row, new in rows if row.sequence not in flight.gone]
        for row, _ in moving:
            row.sequence.num_in_flight -= row.num_tokens
        plan = StepPlan([row for row, _ in moving])
        finished = []
        if plan.rows:
            finished = scheduler.update(plan, [new for _, new in moving], now)
            check_finished(scheduler, plan, finished, engine._live)
            scheduler.blocks.after_pass(plan)
        for sequence in finished:
            self.drop_rows(sequence)
        kept = {row.sequence for row, new in rows if self._keeps_token(row, new, flight)}
        finished = [*finished, *self._append(kept, rows, now)]
        scheduler.blocks.give_back(flight)
        self._describe(flight, kept)
        shown = [new if row.sequence not in flight.begun.gone else [] for row, new in rows]
        return engine._record(flight.plan, shown, finished, now)

    def _tokens_of(self, flight: Flight) -> list[list[int]]:
        """Of each row; none, if the step fails and computes nothing for a live request."""
        try:
            return flight.handle.tokens()
        except Exception:
            if flight.is_alive():
                raise
            return [[] for _ in flight.plan.rows]

    def drop_rows(self, sequence: Sequence) -> None:
        """What is in flight for this sequence does not count any more."""
        sequence.num_in_flight = 0
        for flight in self.flights:
            if sequence in flight.sequences:
                flight.gone.add(sequence)

    def _keeps_token(self, row: Row, new: list[int], flight: Flight) -> bool:
        """Whether the token of a row counts though its sequence was preempted after the launch: the
        K and V are lost, and the token is right. If the sequence was launched again already, that
        step computes the same token."""
        sequence = row.sequence
        again = any(sequence in other.sequences for other in self.flights)
        return bool(new) and sequence in flight.gone and not (again or sequence.is_finished)

    def _append(
        self, kept: set[Sequence], rows: Iterable[tuple[Row, list[int]]], now: float
    ) -> list[Sequence]:
        """Give preempted sequences their tokens; returns those that have finished with it."""
        for row, new in rows:
            if row.sequence in kept:
                row.sequence.advance(0, new, now)
        finished = [sequence for sequence in kept if sequence.is_finished]
        for sequence in finished:
            self.engine.scheduler.abort(sequence)  # it leaves the queue
        return finished

    def _describe(self, flight: Flight, kept: set[Sequence]) -> None:
        """What the trace shall know of a step beside the next one."""
        begun = flight.begun
        begun.in_flight = flight.preempted.union(*(other.sequences for other in self.flights))
        lost = flight.gone - kept
        begun.gone = {s for s in lost if s.is_finished or s.num_in_flight}
        self.engine.trace.begun = begun


def _has_not_moved(sequence: Sequence, num_tokens: int) -> bool:
    return not sequence.is_finished and sequence.num_tokens == num_tokens


def _awaits_only_its_end(row: Row) -> bool:
    """Whether nothing is left to compute in this row: the last token of its sequence is in flight,
    or (in a batch that waits for such a token) its sequence has ended. Policies plan such rows, of
    no token or of one, since the sequence still runs."""
    sequence = row.sequence
    is_last_in_flight = sequence.num_in_flight > 0 and sequence.num_uncomputed_tokens == 0
    is_done = is_last_in_flight or sequence.is_finished
    return is_done and row.num_tokens <= is_last_in_flight and row.num_padding_tokens == 0
