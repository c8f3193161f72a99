"""What every policy shares: the queue, the running list, and what happens to new tokens.

A policy is one method, `plan(now)`. It may use or replace the rest:

    add ──> waiting ── admit ──> running ── update ──> finished
             │ ^                    │
      refuse ┘ └───── preempt ──────┘

A waiting sequence holds no blocks. Tokens are added only in `update`, after the forward pass. The
counter of computed tokens moves there, in `admit` (tokens in shared blocks count) and in `preempt`
(to 0). After an exception the engine puts every running sequence back into the queue, counter at 0
(engine/recovery.py), so `plan` must not rely on what it planned last.
"""

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable

from ..core.checks import integer
from ..core.clock import Clock
from ..core.other_names import POLICY, translates
from ..core.plan import StepPlan
from ..core.request import Sequence
from ..memory.block_manager import BlockManager
from ..memory.blocks import BlockPool
from .backpressure import QueueLimits


class Scheduler(ABC):
    """Decides which sequences run. Your own policy derives from this class and writes `plan`.

    max_batch_size: most sequences in one forward pass, at least 1. waiting: the queue, a deque of
    Sequence, its head next. running: a list of Sequence, in the order of admission. pool, clock:
    the engine's KV blocks and its time in seconds; blocks: the block tables over that pool; all
    three are there once the engine has called `bind`. limits: of the queue. max_batch_tokens: most
    tokens in one forward pass; None sets no limit.
    """

    limits: QueueLimits | None = None
    max_batch_tokens: int | None = None
    _refused: tuple[Sequence, ...] = ()

    @translates(POLICY)
    def __init__(self, max_batch_size: int = 8) -> None:
        self.max_batch_size = integer("max_batch_size", max_batch_size, at_least=1)
        self.waiting: deque[Sequence] = deque()
        self.running: list[Sequence] = []
        self.pool: BlockPool | None = None
        self.clock: Clock | None = None

    def bind(self, pool: BlockPool, clock: Clock) -> None:
        """Called once, by the engine. Raises RuntimeError if another engine has it already."""
        if self.pool is not None:
            raise RuntimeError(
                f"this {type(self).__name__} scheduler already serves an engine; make a new one"
            )
        pool.bind()
        self.pool, self.clock, self.blocks = pool, clock, BlockManager(pool)

    @abstractmethod
    def plan(self, now: float) -> StepPlan:
        """The rows of the next forward pass, one for each sequence that takes part; or no rows, and
        when to ask again. now: seconds on the engine's clock."""

    def update(self, plan: StepPlan, tokens: list[list[int]], now: float) -> list[Sequence]:
        """Apply the results of the forward pass; returns the sequences that finished.

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
        """Refuse a plan that would be computed wrongly, with a ValueError that says why. A sequence
        that a policy admitted without `admit` gets its time here."""
        pool, size = self.pool, self.max_batch_size
        plan.check(pool.block_size)
        if len(plan.rows) > size:
            raise ValueError(f"{len(plan.rows)} rows planned; max_batch_size is {size}")
        running = set(self.running)
        for row in plan.rows:
            sequence, name = row.sequence, row.sequence.request_id
            if sequence not in running:
                raise ValueError(f"request {name!r} has a row but does not run; admit it in plan()")
            if sequence.first_scheduled_time is None:
                sequence.first_scheduled_time = self.clock.now()
            end = -(-(row.start + row.num_written) // pool.block_size)
            first = row.start // pool.block_size
            for block_id in sequence.block_table[first:end] if row.num_tokens else ():
                if not pool.is_sole_holder(block_id):
                    raise ValueError(
                        f"request {name!r} would write into block {block_id}, which "
                        f"{pool.ref_count(block_id)} sequences hold; a sequence may write only "
                        "into a block that it alone holds"
                    )

    def add(self, sequence: Sequence) -> None:
        """Put a sequence that has arrived at the end of the queue."""
        self.waiting.append(sequence)

    def abort(self, sequence: Sequence) -> None:
        """Remove a sequence from the queue or from the batch, and release its blocks."""
        if sequence in self.waiting:
            self.waiting.remove(sequence)
        elif sequence in self.running:
            self.release(sequence)

    def take_refused(self) -> tuple[Sequence, ...]:
        """The sequences that were refused since the last call. The engine calls this after each
        plan."""
        refused, self._refused = self._refused, ()
        return refused

    # What policies are made of ------------------------------------------------------------------

    def limit_tokens(self, max_batch_tokens: int) -> None:
        """Set max_batch_tokens. Raises ValueError if it is so low that a decode could stall."""
        size = self.max_batch_size
        if integer("max_batch_tokens", max_batch_tokens) < size:
            raise ValueError(
                f"max_batch_tokens is {max_batch_tokens}; with max_batch_size {size} it must be "
                f"{size} or more, one token for each running sequence"
            )
        self.max_batch_tokens = max_batch_tokens

    def admit(self, now: float, num_tokens: int, sequence: Sequence | None = None) -> Sequence:
        """Move a sequence from the queue, as a rule its head, into the running list.

        num_tokens: the tokens that its blocks must hold, shared ones included. Read its
        `num_uncomputed_tokens` afterwards: tokens in shared blocks need not be computed.
        """
        sequence = self.waiting[0] if sequence is None else sequence
        self.blocks.share(sequence)
        self.grow(sequence, num_tokens - sequence.num_computed_tokens)
        if sequence.first_scheduled_time is None:
            sequence.first_scheduled_time = now
        self.waiting.remove(sequence)  # at the head this is quick
        sequence.num_tokens_admitted = sequence.num_tokens
        self.running.append(sequence)
        return sequence

    def refuse(self, sequence: Sequence) -> None:
        """End a waiting request as "refused", at once: a server answers with HTTP 503, and the user
        may try another server. Raises ValueError if it does not wait, or was admitted before."""
        if sequence not in self.waiting or sequence.first_scheduled_time is not None:
            raise ValueError(
                f"request {sequence.request_id!r} cannot be refused; refuse only a waiting "
                "request that was never admitted (a preempted request was admitted before)"
            )
        self.waiting.remove(sequence)
        sequence.abort_reason, sequence.abort_time = "refused", self.clock.now()
        self._refused = (*self._refused, sequence)

    def add_row(self, plan: StepPlan, sequence: Sequence, most: float = math.inf) -> None:
        """Plan as many tokens of a running sequence as are left to compute: at most `most`, and at
        most what the budget has left. While the pool lacks blocks for them, preempt."""
        num_tokens = min(sequence.num_uncomputed_tokens, plan.num_left, most)
        if num_tokens == 0 or sequence in plan.preempted:
            return
        if sequence.num_new_blocks(num_tokens, self.pool.block_size):
            while not self.can_grow(sequence, num_tokens):
                victim = self.preempt_one(self.running)
                plan.remove(victim)
                if victim is sequence:
                    return
            self.grow(sequence, num_tokens)
        plan.add(sequence, num_tokens)

    def preempt(self, sequence: Sequence) -> None:
        """Release a sequence's blocks and put it at the queue's head. It keeps its tokens; their K
        and V are computed again later."""
        self.release(sequence)
        sequence.num_once_computed = max(sequence.num_once_computed, sequence.num_computed_tokens)
        sequence.num_computed_tokens = 0
        sequence.num_preemptions += 1
        self.waiting.appendleft(sequence)

    def choose_victim(self, candidates: Iterable[Sequence]) -> Sequence:
        """Which of these to preempt when the pool has no free block: the one admitted last."""
        return max(candidates, key=self.running.index)

    def preempt_one(self, candidates: list[Sequence]) -> Sequence:
        """Preempt one of these, in order of admission, by `choose_victim`. A sequence without a new
        token since its last admission is not preempted while another has one; if none has, the
        newest is preempted. So two sequences cannot preempt each other without end."""
        moved = [s for s in candidates if s.num_tokens > s.num_tokens_admitted]
        victim = self.choose_victim(moved) if moved else candidates[-1]
        self.preempt(victim)
        return victim

    def grow(self, sequence: Sequence, num_tokens: int) -> None:
        """Append the blocks that a sequence needs to compute `num_tokens` more tokens."""
        self.blocks.append(sequence, num_tokens)

    def num_missing(self, sequence: Sequence, num_tokens: int) -> int:
        """Free blocks that it takes to compute `num_tokens` more tokens of a sequence."""
        waits = not sequence.block_table and sequence not in self.running
        return self.blocks.num_missing(sequence, num_tokens, waits)

    def can_grow(self, sequence: Sequence, num_tokens: int) -> bool:
        """Whether the pool has those blocks."""
        return self.num_missing(sequence, num_tokens) <= self.pool.num_free

    def release(self, sequence: Sequence) -> None:
        """Remove a sequence from the running list and release its blocks."""
        self.running.remove(sequence)
        self.blocks.release(sequence)

    def retire(self, finished: list[Sequence]) -> None:
        """Remove finished sequences at once; your own policy may keep them longer."""
        for sequence in finished:
            self.release(sequence)


def reset_policy(scheduler: Scheduler) -> None:
    """Call `reset`, where there is one, of a policy and of the parts it has (`Budget`): what they
    learned in one run must not change the next."""
    parts = (getattr(scheduler, name, None) for name in ("order", "admission", "victim", "chunks"))
    for part in (scheduler, *parts):
        if callable(reset := getattr(part, "reset", None)):
            reset()
