"""After an exception in a forward pass: which row raised it.

One forward pass serves all rows, so one request that makes the model raise would end all others.
Therefore each row of the failed plan runs again alone, once. A row computes the same tokens as
before: what it stores goes to the same places. If all rows succeed, their tokens are the step's. If
some raise, the step fails and names them; the engine recovers, and the others go on.

With `Engine(overlap=True)` a step is launched, and its error comes later. Then the engine does all
that was under way again in order, by `run` (engine/overlap.py), and so comes here.
"""

from __future__ import annotations

import logging
from typing import Protocol

from ..core.plan import StepPlan

logger = logging.getLogger(__name__)


class Runner(Protocol):
    """What computes the steps of an engine: `Engine.runner`."""

    def run(self, plan: StepPlan) -> list[list[int]]: ...


class RowsFailed(RuntimeError):
    """errors: the exception of each request that raised one when it ran alone, by request id.
    num_passed: how many did not."""

    def __init__(self, errors: dict[str, Exception], num_passed: int) -> None:
        names = ", ".join(map(repr, errors))
        super().__init__(
            f"the model raises an exception for {names}: {next(iter(errors.values()))}"
        )
        self.errors, self.num_passed = errors, num_passed


class IsolatingRunner:
    """Stands in for an engine's runner, and has all its attributes."""

    def __init__(self, runner: Runner) -> None:
        self.inner = runner

    def run(self, plan: StepPlan) -> list[list[int]]:
        """The tokens of each row. Raises RowsFailed for rows that fail alone, too."""
        try:
            return self.inner.run(plan)
        except Exception:
            logger.exception(
                "a forward pass of %d rows failed; each row runs alone", len(plan.rows)
            )
        tokens: list[list[int]] = []
        errors: dict[str, Exception] = {}
        for row in plan.rows:
            try:
                tokens += self.inner.run(StepPlan([row]))
            except Exception as error:
                errors[row.sequence.request_id] = error
        if errors:
            raise RowsFailed(errors, len(plan.rows) - len(errors))
        return tokens

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)
