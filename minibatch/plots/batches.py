"""Batches that run to their end: which requests left together, when they could, when they did.

For traces of policies like `Static` and `Dynamic`, which admit no request while a batch runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.records import StepRecord
from ..engine.trace import Trace


@dataclass(frozen=True)
class Batch:
    """One batch. names: its requests, in order of admission. opened: when the first of them
    arrived. departed: the start of its first step. ended: the end of its last step. free_since:
    when the batch before it ended. Times are seconds on the engine's clock."""

    names: tuple[str, ...]
    steps: Sequence[StepRecord]
    opened: float
    departed: float
    ended: float
    free_since: float

    @property
    def held_from(self) -> float:
        """From here to `departed` the machine was idle, because the policy waited."""
        return min(max(self.opened, self.free_since), self.departed)

    @property
    def useful(self) -> float:
        """The share of its rows, 0 to 1, that yielded a token."""
        rows = sum(len(step.row_values) for step in self.steps)
        return sum(step.num_output_tokens for step in self.steps) / rows


def batches(trace: Trace) -> Iterator[Batch]:
    """In the order of departure."""
    arrivals = {c.request_id: c.arrival_time for c in trace.completions}
    begins = [i for i, step in enumerate(trace.steps) if step.admitted]
    free_since = 0.0
    for begin, end in zip(begins, [*begins[1:], len(trace.steps)], strict=True):
        steps = trace.steps[begin:end]
        departed, ended = steps[0].start_time, steps[-1].end_time
        opened = min(arrivals.get(name, departed) for name in steps[0].admitted)
        yield Batch(steps[0].admitted, steps, opened, departed, ended, free_since)
        free_since = ended
