"""What happened: one record a step, kept by the engine, read by plots, metrics and learners.

Slots are the trace's own bookkeeping: a request gets the lowest free slot when it starts running
and gives it up when it stops. A policy need not know of them.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from .chrome_trace import chrome_events
from .metrics import Summary, summarize
from .plan import StepPlan
from .records import RowRecord, StepRecord
from .request import Completion, Sequence
from .schedulers import Scheduler


class Trace:
    """All steps and completions since the engine was made or reset."""

    def __init__(self, max_batch_size: int, num_blocks: int) -> None:
        self.max_batch_size = max_batch_size
        self.num_blocks = num_blocks
        self.steps: list[StepRecord] = []
        self.completions: list[Completion] = []
        self._slots: dict[Sequence, int] = {}  # of whoever runs; two may have had the same id

    def record(
        self,
        plan: StepPlan,
        tokens: list[int | None],
        finished: list[Sequence],
        scheduler: Scheduler,
        times: tuple[float, float],
        num_free_blocks: int,
    ) -> StepRecord:
        """Note a step that has been taken; times: its start and end, as the engine's clock had it.

        num_free_blocks: while it ran.
        """
        planned = [row.sequence for row in plan.rows]
        preempted = [sequence for sequence in self._slots if sequence in scheduler.waiting]
        self._keep_slots({*planned, *scheduler.running})
        admitted = [sequence for sequence in planned if sequence not in self._slots]
        for sequence in admitted:
            self._slots[sequence] = self._lowest_free_slot()
        step = StepRecord(
            index=len(self.steps),
            start_time=times[0],
            end_time=times[1],
            rows=tuple(
                RowRecord(
                    request_id=row.sequence.request_id,
                    slot=self._slots[row.sequence],
                    kind=row.kind,
                    num_tokens=row.num_tokens,
                    num_padding_tokens=row.num_padding_tokens,
                    token_ids=() if token is None else (token,),
                )
                for row, token in zip(plan.rows, tokens, strict=True)
            ),
            waiting=_names(scheduler.waiting),
            admitted=_names(admitted),
            finished=_names(finished),
            preempted=_names(preempted),
            num_free_blocks=num_free_blocks,
        )
        self.steps.append(step)
        self._keep_slots(set(scheduler.running))
        return step

    def _keep_slots(self, sequences: set[Sequence]) -> None:
        self._slots = {s: slot for s, slot in self._slots.items() if s in sequences}

    def _lowest_free_slot(self) -> int:
        taken = set(self._slots.values())
        return next(slot for slot in range(len(taken) + 1) if slot not in taken)

    def summary(self) -> Summary:
        """Throughput, latencies and utilisation, by the names in `metrics`."""
        return summarize(self.steps, self.completions, self.max_batch_size, self.num_blocks)

    def to_jsonl(self, path: str | os.PathLike) -> None:
        """One JSON object a line: every step, in order."""
        with Path(path).open("w", encoding="utf-8") as file:
            for step in self.steps:
                file.write(json.dumps(asdict(step)) + "\n")

    def to_chrome_trace(self, path: str | os.PathLike) -> None:
        """Slots as threads, for https://ui.perfetto.dev or chrome://tracing, in microseconds."""
        events = list(chrome_events(self.steps, self.num_blocks))
        Path(path).write_text(json.dumps({"traceEvents": events, "displayTimeUnit": "ms"}))


def _names(sequences: Iterable[Sequence]) -> tuple[str, ...]:
    return tuple(sequence.request_id for sequence in sequences)
