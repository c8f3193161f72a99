"""What every policy shares: the queue, the running set, and what happens to tokens that come back.

A policy is one method, `plan(now)`. The rest, here, it may use or replace:

    add ──> waiting ── admit ──> running ── update ──> finished
               ^                    │
               └───── preempt ──────┘

`plan` may admit, preempt and take blocks, and may be called again if the forward pass failed; so it
asks what a sequence still *needs*, never what it got last time. Tokens advance only in `update`,
after the forward pass; counters too, but for `admit` (forward, over K and V that are there already)
and `preempt` (back to 0).
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable

from ..core.checks import integer
from ..core.clock import Clock
from ..core.other_names import POLICY, translates
from ..core.plan import StepPlan
from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..memory.sharing import copy_on_write, give_up, num_given_up, num_lacking, take_prefix
from .backpressure import QueueLimits


class Scheduler(ABC):
    """Decides who runs. A policy of your own derives from this and writes `plan`.

    max_batch_size: most sequences in one forward pass, at least 1. waiting: the queue, a deque of
    Sequence, its head next. running: a list of Sequence, in the order of admission. pool, clock:
    the engine's KV blocks and its time in seconds, there once it has called `bind`. holders: of
    those who wait, the forks that hold blocks. limits: of the queue; max_batch_tokens: most tokens
    in one forward pass; None is without end.
    """

    limits: QueueLimits | None = None
    max_batch_tokens: int | None = None

    @translates(POLICY)
    def __init__(self, max_batch_size: int = 8) -> None:
        self.max_batch_size = integer("max_batch_size", max_batch_size, at_least=1)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.holders: list[Sequence] = []
        self.pool: BlockPool | None = None
        self.clock: Clock | None = None

    def bind(self, pool: BlockPool, clock: Clock) -> None:
        """Called once, by the engine. Raises RuntimeError if another engine has it already."""
        if self.pool is not None:
            raise RuntimeError(
                f"this {type(self).__name__} scheduler already serves an engine; make a new one"
            )
        pool.bind()
        self.pool, self.clock = pool, clock

    @abstractmethod
    def plan(self, now: float) -> StepPlan:
        """The rows of the next forward pass, one for each sequence that takes part; or no rows, and
        when to ask again. now: seconds on the engine's clock. May be called again before `update`.
        """

    def update(self, plan: StepPlan, tokens: list[list[int]], now: float) -> list[Sequence]:
        """Take in what the forward pass computed; returns the sequences that finished.

        tokens: a list of token ids for each row of the plan, empty if the row did not reach its
        sequence's end. now: seconds on the engine's clock.
        """
        finished = []
        for row, new in zip(plan.rows, tokens, strict=True):
            row.sequence.advance(row.num_tokens, new, now)
            if new and row.sequence.is_finished:
                finished.append(row.sequence)
        self.retire(finished)
        return finished

    def check(self, plan: StepPlan) -> None:
        """Refuse a plan that would be computed wrongly, with a ValueError that says why."""
        pool, size = self.pool, self.max_batch_size
        plan.check(pool.block_size)
        if len(plan.rows) > size:
            raise ValueError(f"{len(plan.rows)} rows planned; max_batch_size is {size}")
        running = set(self.running)
        for row in plan.rows:
            sequence, name = row.sequence, row.sequence.request_id
            if sequence not in running:
                raise ValueError(f"request {name!r} has a row but does not run; admit it in plan()")
            end = -(-(row.start + row.num_written) // pool.block_size)
            first = row.start // pool.block_size
            for block_id in sequence.block_table[first:end] if row.num_tokens else ():
                if not pool.is_sole_holder(block_id):
                    raise ValueError(
                        f"request {name!r} would write into block {block_id}, which "
                        f"{pool.ref_count(block_id)} hold; only a sole holder may write"
                    )

    def own_what_is_written(self, plan: StepPlan) -> None:
        """See to it that rows write into blocks of their own, and name the copies that this takes.
        Policies that reserve blocks once, and never call `grow` again, need not know of forks."""
        if self.pool.num_shared:
            for row in plan.rows:
                self.grow(row.sequence, row.num_written)
        plan.copies = list(self.pool.copies_owed)

    def add(self, sequence: Sequence) -> None:
        """Take in a sequence that has arrived, at the end of the queue."""
        if sequence.block_table:
            self.holders.append(sequence)
        self.waiting.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        """Forget a sequence, wherever it stands, and take its blocks back."""
        if sequence in self.waiting:
            self.waiting.remove(sequence)
            self.drop(sequence)
        elif sequence in self.running:
            self.release(sequence)

    # What policies are made of ------------------------------------------------------------------

    def limit_tokens(self, max_batch_tokens: int) -> None:
        """Set max_batch_tokens. Raises ValueError if it is so low that a decode could stall."""
        size = self.max_batch_size
        if max_batch_tokens < size:
            raise ValueError(
                f"max_batch_tokens is {max_batch_tokens}; with max_batch_size {size} it must be "
                f"{size} or more, one token for each running sequence"
            )
        self.max_batch_tokens = max_batch_tokens

    def admit(self, now: float, num_tokens: int, sequence: Sequence | None = None) -> Sequence:
        """Move a sequence from the queue, as a rule its head, into the running set.

        num_tokens: the tokens it shall have room for, those whose K and V it holds already
        included. Ask for `num_uncomputed_tokens` afterwards, since K and V that are found in the
        pool need not be computed.
        """
        sequence = self.waiting[0] if sequence is None else sequence
        take_prefix(self.pool, sequence)
        self.grow(sequence, num_tokens - sequence.num_computed_tokens)
        if sequence.first_scheduled_time is None:
            sequence.first_scheduled_time = now
        self.waiting.remove(sequence)  # at the head this is quick
        if sequence in self.holders:
            self.holders.remove(sequence)
        sequence.num_tokens_admitted = sequence.num_tokens
        self.running.append(sequence)
        return sequence

    def preempt(self, sequence: Sequence) -> None:
        """Give up a sequence's blocks; its tokens stay, their K and V will be recomputed."""
        self.release(sequence)
        sequence.num_once_computed = max(sequence.num_once_computed, sequence.num_computed_tokens)
        sequence.num_computed_tokens = 0
        sequence.num_preemptions += 1
        self.waiting.appendleft(sequence)

    def choose_victim(self, candidates: Iterable[Sequence]) -> Sequence:
        """Who gives way when the pool runs dry: of these, the one admitted last."""
        return max(candidates, key=self.running.index)

    def give_way(self, candidates: list[Sequence]) -> Sequence:
        """Preempt one of these, by `choose_victim`; but who has not got a token since it was last
        admitted is spared while another has, and of such alone the newest goes. So two can never
        preempt one another for ever."""
        moved = [s for s in candidates if s.num_tokens > s.num_tokens_admitted]
        victim = self.choose_victim(moved) if moved else candidates[-1]
        self.preempt(victim)
        return victim

    def grow(self, sequence: Sequence, num_tokens: int) -> None:
        """Give a sequence the blocks it lacks to compute `num_tokens` more tokens, and its own of
        those that it would write while others hold them."""
        if self.holders:
            self.make_way(sequence, num_tokens)
        if self.pool.num_shared:
            copy_on_write(self.pool, sequence, num_tokens)
        missing = sequence.num_new_blocks(num_tokens, self.pool.block_size)
        if missing:
            sequence.block_table += self.pool.allocate(missing)

    def can_grow(self, sequence: Sequence, num_tokens: int) -> bool:
        """Whether the pool has those blocks, or gets them from forks that wait."""
        lacking = num_lacking(self.pool, sequence, num_tokens)
        if lacking <= self.pool.num_free or not self.holders:
            return lacking <= self.pool.num_free
        others = [s for s in self.holders if s is not sequence]
        return lacking <= self.pool.num_free + num_given_up(self.pool, others, sequence)

    def make_way(self, sequence: Sequence, num_tokens: int) -> None:
        """Have forks that wait give up blocks, the newest first, until `sequence` can grow."""
        others = [s for s in self.holders if s is not sequence]
        while others and num_lacking(self.pool, sequence, num_tokens) > self.pool.num_free:
            self.drop(others.pop())

    def drop(self, sequence: Sequence) -> None:
        """Take back the blocks of one that waits, if it holds any; it will compute them itself."""
        if sequence in self.holders:
            self.holders.remove(sequence)
            # The counter first: interrupted, it has too many blocks, not too few.
            sequence.num_computed_tokens = 0
            give_up(self.pool, sequence)

    def release(self, sequence: Sequence) -> None:
        """Take a sequence out of the running set and give its blocks back."""
        self.running.remove(sequence)
        give_up(self.pool, sequence)

    def retire(self, finished: list[Sequence]) -> None:
        """What becomes of finished sequences: they leave at once."""
        for sequence in finished:
            self.release(sequence)
