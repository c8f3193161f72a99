"""An engine's forward passes, noted row by row; some of them fail, as if the device had failed."""

from __future__ import annotations

from typing import Any

MOST_PASSES = 400


class PassFailed(Exception):
    """What a pass raises that was to fail."""


class NotedRunner:
    """An engine's runner that notes each plan's rows. fails: numbers of the passes, from 1."""

    def __init__(self, runner: Any, fails: list[int]) -> None:
        self.runner, self.fails = runner, fails
        self.passes: list[list] = []  # of each row: request, tokens, padding, tokens left then

    def run(self, plan: Any) -> list[list[int]]:
        self.passes.append(
            [
                [
                    row.sequence.request_id,
                    int(row.num_tokens),
                    int(row.num_padding_tokens),
                    0 if row.sequence.is_finished else int(row.sequence.num_uncomputed_tokens),
                ]
                for row in plan.rows
            ]
        )
        if len(self.passes) > MOST_PASSES:
            raise RuntimeError(f"[no_end] after {MOST_PASSES} forward passes there is no end yet")
        if len(self.passes) in self.fails:
            raise PassFailed
        return self.runner.run(plan)


def noted_passes(engine: Any, requests: list, fails: list[int]) -> list[list]:
    """Serve these requests to the end, going on after a pass that fails; returns all passes."""
    engine.runner = runner = NotedRunner(engine.runner, fails)
    for request in requests:
        engine.add(request)
    while engine.has_work:
        try:
            engine.step()
        except PassFailed:
            continue
    return runner.passes
