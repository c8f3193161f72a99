"""Drives a policy without a model: a pool, a made-up clock, and the same token for every row."""

import minibatch as mb
from minibatch.engine.invariants import check_invariants

TOKEN = 7  # what the absent model always says


def make_sequence(name="A", num_prompt_tokens=3, max_tokens=4, arrival_time=0.0, stops=()):
    request = mb.Request([5] * num_prompt_tokens, max_tokens=max_tokens, request_id=name)
    return mb.Sequence(
        request=request,
        request_id=name,
        token_ids=[5] * num_prompt_tokens,
        num_prompt_tokens=num_prompt_tokens,
        stop_token_ids=frozenset(stops),
        seed=0,
        arrival_time=arrival_time,
    )


class ByHand:
    """One scheduler, bound to a pool; `step` plans, feeds and updates as the engine does."""

    def __init__(self, scheduler, num_blocks=64, block_size=4):
        self.scheduler, self.clock = scheduler, mb.VirtualClock(step_time=0.025)
        self.pool = mb.BlockPool(num_blocks, block_size)
        scheduler.bind(self.pool, self.clock)
        self.sequences = {}

    def add(self, name, num_prompt_tokens=3, max_tokens=4):
        sequence = make_sequence(name, num_prompt_tokens, max_tokens, self.clock.now())
        self.sequences[name] = sequence
        self.scheduler.add(sequence)
        return sequence

    def plan(self):
        plan = self.scheduler.plan(self.clock.now())
        self.scheduler.check(plan)
        return plan

    def step(self):
        """Rows of one step, as (name, tokens, padding tokens)."""
        plan = self.plan()
        tokens = [[TOKEN] if row.reaches_end else [] for row in plan.rows]
        rows = shape(plan)
        self.clock.tick(plan)
        self.scheduler.update(plan, tokens, self.clock.now())
        self.check()
        return rows

    def steps(self, n):
        return [self.step() for _ in range(n)]

    def check(self):
        live = [s for s in self.sequences.values() if not s.is_finished]
        check_invariants(self.pool, self.scheduler, live)

    @property
    def running(self):
        return [sequence.request_id for sequence in self.scheduler.running]

    @property
    def waiting(self):
        return [sequence.request_id for sequence in self.scheduler.waiting]


def shape(plan):
    return [(r.sequence.request_id, r.num_tokens, r.num_padding_tokens) for r in plan.rows]
