"""Batches that run to their end: who left together, when they could have, when they did.

For traces of policies like `Static` and `Dynamic`, which take nobody in while a batch runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core.records import StepRecord
from ..engine.trace import Trace


@dataclass(frozen=True)
class Batch:
    """One batch. names: its requests, in the order in which they were admitted. opened: when the
    first of them came; departed, ended: its first step's start, its last step's end; seconds on the
    engine's clock. free_since: when the batch before it had ended."""

    names: tuple[str, ...]
    steps: Sequence[StepRecord]
    opened: float
    departed: float
    ended: float
    free_since: float

    @property
    def held_from(self) -> float:
        """From here to `departed` it was kept back by the policy: the machine was idle."""
        return min(max(self.opened, self.free_since), self.departed)

    @property
    def useful(self) -> float:
        """The share of its rows that yielded a token."""
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
