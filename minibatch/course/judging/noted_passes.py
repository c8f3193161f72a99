"""An engine's forward passes, noted row by row; some of them fail, as if the device had failed."""

from __future__ import annotations

from typing import Any

PASSES_TO_SPARE = 400  # beyond one for each token of an answer: chunks, failed passes


class PassFailed(Exception):
    """What a pass raises that was to fail."""


class NotedRunner:
    """An engine's runner that notes each plan's rows. fails: numbers of the passes, from 1."""

    def __init__(self, runner: Any, fails: list[int], most_passes: int) -> None:
        self.runner, self.fails, self.most_passes = runner, fails, most_passes
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
        if len(self.passes) > self.most_passes:
            raise RuntimeError(f"[no_end] the run has not ended after {self.most_passes} passes")
        if len(self.passes) in self.fails:
            raise PassFailed
        return self.runner.run(plan)


def noted_passes(engine: Any, requests: list, fails: list[int]) -> list[list]:
    """Serve these requests to the end, going on after a pass that fails; returns all passes."""
    most_passes = sum(request.max_tokens for request in requests) + PASSES_TO_SPARE
    engine.runner = runner = NotedRunner(engine.runner, fails, most_passes)
    for request in requests:
        engine.add(request)
    while engine.has_work:
        try:
            engine.step()
        except PassFailed:
            continue
    return runner.passes
