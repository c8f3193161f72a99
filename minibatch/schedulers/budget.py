"""A token budget: a step computes a limited number of tokens, and no decode waits for a prompt.

a step of at most 256 tokens    [ d d d d d d d | prompt, next 200 | new prompt, first 49 ]
                                  decodes first   started prompts    admitted now
"""

from ..core.other_names import POLICY, translates
from ..core.plan import StepPlan
from ..core.request import Sequence
from . import chunks, orders, victims
from .admission import Admission, PromptOnly
from .backpressure import QueueLimits
from .base import Scheduler


class Budget(Scheduler):
    """Iteration-level scheduling with chunked prefill; each other decision is a separate part.

    max_batch_tokens: most tokens in one forward pass, at least max_batch_size. Each decode takes
    one; prompts share the rest, in chunks. (Sarathi-Serve, Agrawal et al., 2024)
    chunks: how several prompts share it (chunks.py). order: which request is admitted next
    (orders.py). admission: whether it may be admitted now (admission/). victim: which request is
    preempted when the pool has no free block (victims.py). limits: when the queue is full
    (backpressure.py).
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
        self.order = orders.FirstCome() if order is None else order
        self.admission = PromptOnly() if admission is None else admission

    def plan(self, now: float) -> StepPlan:
        plan = StepPlan(num_left=self.max_batch_tokens)
        for sequence in [s for s in self.running if s.num_uncomputed_tokens == 1]:
            self.add_row(plan, sequence)
        self.admission.learn(self, bool(plan.preempted))
        prompts = [s for s in self.running if s.num_uncomputed_tokens > 1]
        while not plan.preempted and (sequence := self.next_admitted(prompts, plan, now)):
            prompts.append(self.admit(now, sequence.num_computed_tokens, sequence))
        for sequence, share in zip(prompts, self.shares(prompts, plan.num_left), strict=True):
            self.add_row(plan, sequence, share)
        return plan

    def shares(self, prompts: list[Sequence], budget: float) -> list[int]:
        """How many tokens of each prompt are computed in this step."""
        return self.chunks([s.num_uncomputed_tokens for s in prompts], budget)

    def next_admitted(self, prompts: list[Sequence], plan: StepPlan, now: float) -> Sequence | None:
        """The next sequence to admit beside these prompts: if a slot is free, the pool has room,
        and the budget has a share for it. None otherwise."""
        if not self.waiting or len(self.running) == self.max_batch_size:
            return None
        sequence = self.order.next(self, now)
        gets_some = self.shares([*prompts, sequence], plan.num_left)[-1] > 0
        return sequence if gets_some and self.admission.admits(self, sequence) else None

    def choose_victim(self, candidates: list[Sequence]) -> Sequence:
        return self.victim(candidates)

    def add(self, sequence: Sequence) -> None:
        self.order.arrived(sequence, self)
        super().add(sequence)

    def update(self, plan: StepPlan, tokens: list[list[int]], now: float) -> list[Sequence]:
        self.order.ran(plan)
        return super().update(plan, tokens, now)
