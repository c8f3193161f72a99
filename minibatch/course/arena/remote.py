"""A submission's policy in a worker, and the judge's engine that plays a match with it.

The worker has copies of sequences and pool. Its policy works on them with the course's own methods,
and each change of a block table is noted. Here the notes are carried out once more, on the true
sequences and the true pool, by the same code; so both stay equal, and a policy that changes blocks
in another way is stopped. Tokens, times, lengths and refusals exist here only.
"""

from __future__ import annotations

from itertools import groupby

from minibatch.core.plan import Row, StepPlan
from minibatch.core.request import Sequence
from minibatch.course.judging.student import Student
from minibatch.memory.block_manager import BlockManager
from minibatch.memory.blocks import BlockPool
from minibatch.schedulers import QueueLimits, Scheduler

MOST_EMPTY = 2_000  # plans without rows, one after the other
MOST_NOTES = 20_000  # changes of block tables in a match; the shipped policies make about 1,000


class Stopped(Exception):
    """The policy did what no policy may do; the match ends, and scores 0."""


class LateBlocks(BlockManager):
    """The true block tables. What follows a pass waits until the policy has taken it in."""

    def __init__(self, pool: BlockPool) -> None:
        super().__init__(pool)
        self.passed: StepPlan | None = None

    def after_pass(self, plan: StepPlan) -> None:
        self.passed = plan

    def finish_pass(self) -> None:
        """Do now what `after_pass` was called for."""
        if self.passed is not None:
            super().after_pass(self.passed)
            self.passed = None


class RemotePolicy(Scheduler):
    """The policy that `make_policy` of a submission returns, for one match.

    sizes: max_batch_size and max_batch_tokens of the division; more rows or tokens are refused.
    """

    def __init__(self, student: Student, sizes: tuple[int, int], stop_token_id: int) -> None:
        super().__init__(sizes[0])
        self.student, self.sizes, self.stop_token_id = student, sizes, stop_token_id
        self.sequences: dict[str, Sequence] = {}
        self._computed: tuple[list, float] | None = None
        self._arrived: list[Sequence] = []
        self._live: set[Sequence] = set()  # and some that ended since the lists last changed
        self._num_empty = self._num_notes = 0

    def bind(self, pool: BlockPool, clock: object) -> None:
        super().bind(pool, clock)
        self.blocks = LateBlocks(pool)
        answer = self.student.ask(
            "arena_policy",
            sizes=list(self.sizes),
            num_blocks=pool.num_blocks,
            block_size=pool.block_size,
            stop_token_id=self.stop_token_id,
        )
        if not isinstance(answer, dict):
            raise _no_plan("the answer is not a dictionary")
        size, limits = answer.get("max_batch_size"), answer.get("limits")
        if type(size) is not int or not 1 <= size <= self.sizes[0]:
            raise Stopped(
                f"max_batch_size is {size!s:.20}; this machine computes 1 to {self.sizes[0]} rows"
            )
        self.max_batch_size = size
        self.limits = QueueLimits(*limits) if limits else None

    def add(self, sequence: Sequence) -> None:
        super().add(sequence)
        self.sequences[sequence.request_id] = sequence
        self._live.add(sequence)
        self._arrived.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        raise Stopped(
            f"your policy called `abort` for request {sequence.request_id}; no match aborts a "
            "request"
        )  # no match does

    def update(self, plan: StepPlan, tokens: list[list[int]], now: float) -> list[Sequence]:
        """Advance the true sequences; what the policy makes of it comes with its next plan."""
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
        self._computed = tokens, now
        return [row.sequence for row in plan.rows if row.sequence.is_finished]

    def plan(self, now: float) -> StepPlan:
        tokens, updated = self._computed or (None, now)
        arrived = [_described(sequence) for sequence in self._arrived]
        self._computed, self._arrived = None, []
        answer = self.student.ask(
            "arena_step", now=now, tokens=tokens, updated=updated, arrived=arrived
        )
        try:
            self._follow(answer)
            rows = [
                Row(self.sequences[name], _count(n), _count(pad)) for name, n, pad in answer["rows"]
            ]
            plan = StepPlan(rows, _time(answer.get("wake_at")))
        except (KeyError, TypeError, ValueError, MemoryError, AttributeError) as error:
            raise _no_plan(f"{type(error).__name__}: {error!s:.120}") from None
        self._num_empty = 0 if plan.rows else self._num_empty + 1
        if self._num_empty > MOST_EMPTY:
            raise Stopped(
                f"your policy returned {MOST_EMPTY:,} successive plans without a row; "
                "plan rows for the requests that wait or run"
            )
        return plan

    def _follow(self, answer: dict) -> None:
        self._num_notes += sum(len(answer[part]) for part in ("after", "blocks"))
        if self._num_notes > MOST_NOTES:
            raise Stopped(f"more than {MOST_NOTES:,} changes of block tables in one match")
        for note in answer["after"]:
            self._do(*note)
        self.blocks.finish_pass()
        for note in answer["blocks"]:
            self._do(*note)
        for name in answer["refused"]:
            super().refuse(self.sequences[name])
        if "lists" in answer:
            waiting, running = ([self.sequences[name] for name in some] for some in answer["lists"])
            self._check_lists(waiting, running)
            self.waiting.clear()
            self.waiting.extend(waiting)
            self.running[:] = running

    def _do(self, what: str, name: str, num_tokens: int = 0) -> None:
        sequence = self.sequences[name]
        if sequence.is_finished and what != "release":
            raise ValueError(f"request {name} has ended; its blocks can only be released")
        if what == "share":
            self.blocks.share(sequence)
        elif what == "append":
            self.blocks.append(sequence, _count(num_tokens))
        elif what == "release":
            self.blocks.release(sequence)
            if not sequence.is_finished:
                computed = sequence.num_computed_tokens
                sequence.num_once_computed = max(sequence.num_once_computed, computed)
                sequence.num_computed_tokens = 0
                sequence.num_preemptions += 1
        else:
            raise ValueError(f"no such change: {what!s:.20}")

    def _check_lists(self, waiting: list[Sequence], running: list[Sequence]) -> None:
        """Every live request is in one of the lists, and none is twice; a waiting one holds no
        blocks."""
        both = [*waiting, *running]
        self._live = {s for s in self._live if not s.is_finished}
        if len(both) != len(set(both)):  # an ended one too: the engine walks both lists each step
            raise ValueError("waiting and running name a request twice")
        if {s for s in both if not s.is_finished} != self._live:
            raise ValueError("a request is in neither waiting nor running")
        if any(s.is_finished or s.block_table for s in waiting):
            raise ValueError("a waiting request holds blocks, or has finished")
        for sequence in running:
            if sequence.first_scheduled_time is None:
                sequence.first_scheduled_time = self.clock.now()


def _described(sequence: Sequence) -> list:
    request = sequence.request
    prompt = [[token, len(list(same))] for token, same in groupby(sequence.token_ids)]
    return [
        sequence.request_id,
        prompt,
        request.max_tokens,
        sequence.arrival_time,
        request.client,
    ]


def _no_plan(why: str) -> Stopped:
    return Stopped(
        "the arena cannot repeat your policy's step: change requests and blocks only with admit, "
        f"preempt, refuse, grow and add_row ({why})"
    )


def _time(wake_at: object) -> object:
    """A number that a clock can add; the engine checks the rest."""
    if type(wake_at) is int and abs(wake_at) > 1e300:
        raise ValueError(f"wake_at is {wake_at!s:.20}…; give seconds on the engine's clock")
    return wake_at


def _count(number: object) -> int:
    if type(number) is not int or number < 0:
        raise ValueError(f"{number!s:.20} is not a number of tokens")
    return number
