"""One step, as it is remembered: what plots, metrics and learners read."""

from dataclasses import dataclass

from .plan import Kind


@dataclass(slots=True, frozen=True)
class RowRecord:
    """One row of one step. kind: "padding" when nothing in it was for its request any more."""

    request_id: str
    slot: int
    kind: Kind
    num_tokens: int
    num_padding_tokens: int
    token_ids: tuple[int, ...]  # what it produced: nothing, unless it reached the end


@dataclass(slots=True, frozen=True)
class StepRecord:
    """One step of the engine. Times in seconds on its clock; the lists hold request ids.

    admitted, preempted and num_free_blocks are as planned, while it ran; waiting as it was left.
    """

    index: int
    start_time: float
    end_time: float
    rows: tuple[RowRecord, ...]
    waiting: tuple[str, ...]
    admitted: tuple[str, ...]
    finished: tuple[str, ...]
    preempted: tuple[str, ...]
    num_free_blocks: int

    @property
    def num_output_tokens(self) -> int:
        return sum(len(row.token_ids) for row in self.rows)
