"""A token budget: a step computes at most so many tokens, and no decode ever waits for a prompt.

a step of at most 256 tokens    [ d d d d d d d | prompt, next 200 | newcomer, first 49 ]
                                  decodes first   then who has begun   then who is admitted
"""

from ..core.other_names import POLICY, translates
from ..core.plan import Row, StepPlan
from ..core.request import Sequence
from . import chunks, orders, victims
from .admission import Admission, PromptOnly
from .backpressure import QueueLimits
from .base import Scheduler


class Budget(Scheduler):
    """Iteration-level scheduling with chunked prefill, and every other decision a part of its own.

    max_batch_tokens: most tokens in one forward pass, at least max_batch_size. What is left of it
    after one for each decode goes to prompts, in chunks. (Sarathi-Serve, Agrawal et al., 2024)
    chunks: how several prompts share it (chunks.py). order: who is admitted next (orders.py).
    admission: who may be (admission/). victim: who gives way when the pool runs dry (victims.py).
    limits: when the queue is full (backpressure.py).
    """

    @translates(POLICY)
    def __init__(
        self,
        max_batch_size: int = 8,
        max_batch_tokens: int = 256,
        *,
        chunks: chunks.Chunks = chunks.first_come_first_served,
        order: orders.Order | None = None,
        admission: Admission | None = None,
        victim: victims.Victim = victims.newest,
        limits: QueueLimits | None = None,
    ) -> None:
        super().__init__(max_batch_size)
        self.limit_tokens(max_batch_tokens)
        self.chunks, self.victim, self.limits = chunks, victim, limits
        self.order, self.admission = order or orders.FirstCome(), admission or PromptOnly()

    def plan(self, now: float) -> StepPlan:
        rows: dict[Sequence, int] = {}
        num_waiting = len(self.waiting)
        for sequence in [s for s in self.running if s.num_uncomputed_tokens == 1]:
            self.give(rows, sequence, 1)
        gave_way = len(self.waiting) > num_waiting
        self.admission.learn(self, gave_way)
        left = self.max_batch_tokens - len(rows)
        prompts = [s for s in self.running if s not in rows]
        if not gave_way:  # else the room is for those who made somebody leave
            while (newcomer := self.newcomer(prompts, left, now)) is not None:
                prompts.append(self.admit(now, newcomer.num_computed_tokens, newcomer))
        for sequence, num_tokens in zip(prompts, self.shares(prompts, left), strict=True):
            self.give(rows, sequence, num_tokens)
        return StepPlan([Row(sequence, n) for sequence, n in rows.items()])

    def shares(self, prompts: list[Sequence], budget: int) -> list[int]:
        """How many tokens of each are computed now."""
        return self.chunks([s.num_uncomputed_tokens for s in prompts], budget)

    def newcomer(self, prompts: list[Sequence], budget: int, now: float) -> Sequence | None:
        """Who may join them: there is a slot, the pool has room, and the budget a share."""
        if not self.waiting or len(self.running) == self.max_batch_size:
            return None
        sequence = self.order.next(self, now)
        gets_some = self.shares([*prompts, sequence], budget)[-1] > 0
        return sequence if gets_some and self.admission.admits(self, sequence) else None

    def give(self, rows: dict[Sequence, int], sequence: Sequence, num_tokens: int) -> None:
        """Plan so many tokens of it, after others have given way if they must; it may be one."""
        while sequence in self.running and not self.can_grow(sequence, num_tokens):
            rows.pop(self.give_way(self.running), None)
        if num_tokens and sequence in self.running:
            self.grow(sequence, num_tokens)
            rows[sequence] = num_tokens

    def choose_victim(self, candidates: list[Sequence]) -> Sequence:
        return self.victim(candidates)

    def add(self, sequence: Sequence) -> None:
        self.order.arrived(sequence, self)
        super().add(sequence)

    def update(self, plan: StepPlan, tokens: list[list[int]], now: float) -> list[Sequence]:
        self.order.ran(plan)
        return super().update(plan, tokens, now)
