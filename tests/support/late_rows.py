"""A device that executes rows in flight as late, and in as free an order, as it may.

A step may be executed at any moment between its launch and its collection; all that is fixed is
the order of one sequence's own rows, since each reads what the one before wrote. `LateRows` draws a
moment for every row. So a stale row that writes into a block which another request has meanwhile is
found, as on a GPU that computes prompts on a stream of their own. The device of a CPU, one thread,
and a GPU with one stream execute everything in order, and would hide it.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from types import SimpleNamespace

from token_store import TokenStore, TokenStoreModel

import minibatch as mb


class LateRowsModel(TokenStoreModel):
    """late: the share of rows that are executed only when their step is collected."""

    def __init__(self, seed: int = 0, late: float = 0.5) -> None:
        self.seed, self.late = seed, late

    def runner(self, pool: mb.BlockPool, attention: object) -> LateRows:
        return LateRows(pool.num_blocks, pool.block_size, random.Random(self.seed), self.late)


@dataclass
class Frozen:
    """A row as it was at its launch. before: the row of the same sequence whose token it begins
    with, or that must be executed first; token: what it yields, once it has been executed."""

    row: SimpleNamespace
    before: Frozen | None
    takes_token: bool
    token: list[int] | None = None

    @property
    def is_executed(self) -> bool:
        return self.token is not None


class LateRows(TokenStore):
    """The runner: `launch` in place of `run`."""

    def __init__(self, num_blocks: int, block_size: int, rng: random.Random, late: float) -> None:
        super().__init__(num_blocks, block_size)
        self.rng, self.late = rng, late

    def launch(self, plan: mb.StepPlan, before: Step | None, now) -> Step:
        return Step(self, plan, before, now)

    def run(self, plan: mb.StepPlan) -> list[list[int]]:
        """One row; a test may raise here."""
        return super().run(plan)

    def execute(self, frozen: Frozen) -> None:
        """This row, and before it the one that it needs."""
        if frozen.is_executed:
            return
        if frozen.before is not None:
            self.execute(frozen.before)
            if frozen.takes_token:
                frozen.row.sequence.token_ids += frozen.before.token
        frozen.before = None
        [frozen.token] = self.run(mb.StepPlan([frozen.row]))


class Step:
    """What `launch` returns."""

    def __init__(self, runner: LateRows, plan: mb.StepPlan, before: Step | None, now) -> None:
        self.runner, self.times = runner, (now(), now())
        self.error: BaseException | None = None
        earlier = {} if before is None else before.of
        self.of: dict[object, Frozen] = {}
        for row in plan.rows:
            sequence = row.sequence
            takes_token = row.seq_len > sequence.num_tokens
            self.of[sequence] = Frozen(frozen_row(row), earlier.get(sequence), takes_token)
        for frozen in self.of.values():
            if runner.rng.random() >= runner.late:
                runner.execute(frozen)

    def wait(self) -> None:
        try:
            self.execute_all()
        except BaseException as error:
            self.error = error

    def tokens(self) -> list[list[int]]:
        if self.error is not None:
            raise self.error
        self.execute_all()
        return [frozen.token for frozen in self.of.values()]

    def execute_all(self) -> None:
        rows = [frozen for frozen in self.of.values() if not frozen.is_executed]
        self.runner.rng.shuffle(rows)
        for frozen in rows:
            self.runner.execute(frozen)


def frozen_row(row) -> SimpleNamespace:
    """All that `TokenStore` reads of a row, as it is now."""
    sequence = row.sequence
    return SimpleNamespace(
        sequence=SimpleNamespace(
            token_ids=list(sequence.token_ids),
            block_table=list(sequence.block_table),
            request=sequence.request,
            request_id=sequence.request_id,
        ),
        start=row.start,
        num_tokens=row.num_tokens,
        draft=(),
        reaches_end=row.reaches_end,
        verified=lambda own: own,
    )
