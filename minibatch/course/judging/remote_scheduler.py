"""A learner's policy in a worker, and the judge's real engine that uses it.

The engine sees a `Scheduler` like any other. The worker answers every `plan` and `update`. The
judge compares the answer with what it knows itself: which requests run, how many tokens of each
are computed, which blocks they hold. So a policy is judged by what it does, however it is written.
"""

from __future__ import annotations

from collections import Counter

import minibatch as mb
from minibatch.course.judging.advances import (
    check_admission,
    check_computed,
    check_returned,
    check_time,
    check_tokens,
)
from minibatch.course.judging.reported_state import (
    MirrorPool,
    ReportedSequence,
    check_blocks,
    check_free,
    listed,
    names_in,
)
from minibatch.course.judging.student import Student
from minibatch.course.judging.verdict import Wrong
from minibatch.course.judging.worker_errors import Died

MOST_EMPTY = 2000  # plans without rows, one after the other
MOST_TOKENS = 100_000  # of a row, computed or padding


class RemoteScheduler(mb.Scheduler):
    """The learner's class `name`, made with `options` and a max_batch_size.

    borrowed: methods that come from a class of minibatch instead, {"update": "Scheduler"}, so that
    one method can be judged while another is not written yet.
    """

    def __init__(
        self,
        student: Student,
        name: str,
        max_batch_size: int = 3,
        borrowed: dict[str, str] | None = None,
        **options: object,
    ) -> None:
        super().__init__(max_batch_size)
        self.student, self.name = student, name
        self.options = {"max_batch_size": max_batch_size, **options}
        self.borrowed = borrowed or {}
        self.sequences: dict[str, mb.Sequence] = {}  # of every request so far
        self.planned = mb.StepPlan()  # the newest plan
        self.num_steps = self.num_empty = 0
        self._answered: tuple[list, list, dict] = [], [], {}  # queue, running, tables and counters

    def restore_answer(self) -> None:
        """Go back to the policy's newest answer. An engine that refuses a plan puts all running
        sequences back into the queue; what is wrong shows only before that."""
        waiting, running, sequences = self._answered
        self.waiting.clear()
        self.waiting.extend(waiting)
        self.running[:] = running
        for sequence, (table, num_computed) in sequences.items():
            sequence.block_table, sequence.num_computed_tokens = list(table), num_computed
        self.pool.rebuild([table for table, _ in sequences.values()])

    def _ask(self, what: str, **details: object) -> dict:
        answer = self.student.ask(what, **details)
        if not isinstance(answer, dict):
            raise Died("[answer_of_no_worker] your code's process gave no valid reply")
        return answer

    def bind(self, pool: MirrorPool, clock: object) -> None:
        super().bind(pool, clock)
        self._ask(
            "policy",
            name=self.name,
            options=self.options,
            borrowed=self.borrowed,
            num_blocks=pool.num_blocks,
            block_size=pool.block_size,
        )

    def add(self, sequence: mb.Sequence) -> None:
        self.sequences[sequence.request_id] = sequence
        details = {
            "request_id": sequence.request_id,
            "token_ids": sequence.token_ids,
            "max_tokens": sequence.request.max_tokens,
            "stop_token_ids": sorted(sequence.stop_token_ids),
            "arrival_time": sequence.arrival_time,
            "priority": sequence.request.priority,
        }
        self._follow(self._ask("add", sequence=details), sequence.arrival_time)

    def abort(self, sequence: mb.Sequence) -> None:
        name = sequence.request_id
        state = self._ask("abort", request_id=name)
        if name in names_in(state, "waiting") + names_in(state, "running"):
            raise Wrong(f"[abort_leaves_it] abort() did not remove {name}, the aborted request.")
        del self.sequences[name]
        self._follow(state, self.clock.now())

    def plan(self, now: float) -> mb.StepPlan:
        answer = self._ask("plan", now=now)
        self._follow(answer, now)
        rows = [self._row(row) for row in listed(answer, "rows")]
        wake_at = answer.get("wake_at")
        if not isinstance(wake_at, int | float | None) or isinstance(wake_at, bool):
            raise Wrong(
                f"[wake_at_is_no_time] wake_at is {wake_at!s:.60}; give a time in seconds, as "
                "`now` is."
            )
        is_time = wake_at is not None and abs(wake_at) < 1e15
        self.planned = mb.StepPlan(rows, wake_at if is_time else None)
        self.num_empty = 0 if rows else self.num_empty + 1
        if self.num_empty > MOST_EMPTY:
            raise RuntimeError(f"plan gave no rows in {MOST_EMPTY} steps, the last at {now:g} s")
        return self.planned

    def _row(self, row: object) -> mb.Row:
        match row:
            case [str() as name, *counts] if name in self.sequences and len(counts) == 3:
                sequence = self.sequences[name]
            case _:
                raise Wrong(
                    f"[row_of_nobody] The plan has a row {str(row)[:80]}; a row must belong to a "
                    "live request."
                )
        for count in counts:
            if type(count) is not int:
                raise Wrong(
                    f"[tokens_are_no_int] {name}'s row counts {count!s:.40} tokens, a "
                    f"{type(count).__name__}; use a whole number (an int: // gives one, / gives "
                    "a float)."
                )
        if sequence in self.waiting:
            raise Wrong(
                f"[row_of_one_who_waits] {name} has a row, but still waits in the queue: "
                "self.admit takes the head of the queue and returns it, so give the returned "
                "sequence a row."
            )
        num_tokens, padding, start = counts
        if max(num_tokens, padding) > MOST_TOKENS:  # the engine would compute them
            raise Wrong(
                f"[row_without_bounds] {name}'s row has {num_tokens:,} tokens and {padding:,} of "
                "padding; a row computes what is left of its sequence, padded to the longest row."
            )
        if start != sequence.num_computed_tokens:
            raise Wrong(
                f"[row_of_an_earlier_step] {name}'s row begins at token {start}, as in an "
                f"earlier step, but {sequence.num_computed_tokens} tokens are computed: a row is "
                "valid for one step. Make new rows in each plan()."
            )
        return mb.Row(sequence, num_tokens, padding)

    def update(self, plan: mb.StepPlan, tokens: list[list[int]], now: float) -> list[mb.Sequence]:
        self.num_steps += 1
        rows = [row for row in plan.rows if not row.sequence.is_finished]
        before = {row.sequence.request_id: row.sequence.num_tokens for row in plan.rows}
        reached = [row for row in plan.rows if row.reaches_end]
        for row, new in zip(plan.rows, tokens, strict=True):  # what is true, whatever they say
            row.sequence.advance(row.num_tokens, new, now)
        finished = [row.sequence for row in rows if row.sequence.is_finished]
        answer = self._ask("update", tokens=tokens, now=now)
        reported = {name: ReportedSequence.of(answer, name) for name in before}
        check_tokens(self.num_steps, plan.rows, before, reported)
        for row in plan.rows:
            sequence, name = row.sequence, row.sequence.request_id
            one = reported[name]
            check_computed(
                self.num_steps, name, row, sequence.num_computed_tokens, one.num_computed
            )
            if one.is_finished != sequence.is_finished:
                has = "has finished" if sequence.is_finished else "has not finished"
                raise Wrong(
                    f"[finished_is_not_told] After step {self.num_steps}, {name} {has}, but your "
                    "policy reports the opposite."
                )
            if row in reached:
                check_time(name, "newest token", now, one.time)
        stay, returned = names_in(answer, "running"), answer.get("finished")
        over = {s.request_id for s in self.sequences.values() if s.is_finished}
        over -= {s.request_id for s in finished}
        went_on = {
            row.sequence.request_id
            for row, new in zip(plan.rows, tokens, strict=True)
            if before[row.sequence.request_id] + len(new) > row.sequence.num_tokens
        }
        got = str(answer.get("got"))
        check_returned(self.num_steps, finished, stay, returned, got, over, went_on)
        self._follow(answer, now)
        return finished

    def _follow(self, state: dict, now: float) -> None:
        """Take over queue, running set and block tables, or say what is wrong with them."""
        waiting, running = names_in(state, "waiting"), names_in(state, "running")
        for name, times in Counter(waiting + running).items():
            if times > 1:
                raise Wrong(
                    f"[stands_twice] {name} is {times} times in self.waiting and self.running: "
                    "self.admit already moves a sequence from waiting to running."
                )
            if name not in self.sequences:
                raise Died(f"[request_that_is_not] your policy has an unknown request {name:.40}")
        held = {s.request_id: s.block_table for s in self.sequences.values()}
        reported = {name: ReportedSequence.of(state, name) for name in self.sequences}
        tables = {name: one.table for name, one in reported.items()}
        in_use = sum(len(table) for name, table in tables.items() if name in running)
        freed = state.get("num_free") == self.pool.num_blocks - in_use
        for name, sequence in self.sequences.items():
            one = reported[name]
            if sequence.is_finished and name in waiting:
                raise Wrong(
                    f"[finished_waits_again] {name} has finished, but waits in the queue again: "
                    "a finished sequence must leave."
                )
            if name in waiting:  # perhaps preempted: what it had computed is gone with its blocks
                sequence.num_computed_tokens = 0
                if one.num_computed:
                    raise Wrong(
                        f"[waits_with_computed_tokens] {name} waits without blocks, but still "
                        f"has num_computed_tokens = {one.num_computed}: its keys and values are "
                        "lost. Set num_computed_tokens to 0."
                    )
            if not sequence.is_finished and name not in waiting and name not in running:
                raise Wrong(
                    f"[stands_nowhere] {name} is neither in self.waiting nor in self.running, "
                    "and has not finished: it would wait forever. Remove only finished sequences. "
                    "(If you delete an item of a list, the later items move up by one place.)"
                )
            if name in running and one.num_computed == 0:  # given up, and admitted once more
                sequence.num_computed_tokens = 0
            if name in running and one.num_computed != sequence.num_computed_tokens:
                raise Wrong(
                    f"[plan_moves_the_counter] {name} has num_computed_tokens = "
                    f"{one.num_computed}, but the model has computed "
                    f"{sequence.num_computed_tokens}: plan() must not change "
                    "num_computed_tokens; only update() may."
                )
            joined = name in running or one.scheduled is not None  # and perhaps left again
            if joined and sequence.first_scheduled_time is None:
                sequence.first_scheduled_time = now
                if one.scheduled is not None:
                    check_admission(sequence, now, one.scheduled)
            check_blocks(name, sequence, one, name in running, freed, self.pool.block_size)
            sequence.block_table = one.table
        self.pool.set_holders(tables)
        check_free(self.pool, state.get("num_free"), held, tables)
        self.waiting.clear()
        self.waiting.extend(self.sequences[name] for name in waiting)
        self.running[:] = [self.sequences[name] for name in running]
        states = {s: (list(s.block_table), s.num_computed_tokens) for s in self.sequences.values()}
        self._answered = list(self.waiting), list(self.running), states
