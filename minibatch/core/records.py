"""One step, as it is remembered: what plots, metrics and learners read."""

from dataclasses import dataclass
from typing import NamedTuple

from .plan import Kind


class RowRecord(NamedTuple):
    """One row of one step, of the request `request_id`.

    slot: its place in the batch, from 0. kind: "prefill", "decode", "padding" for a row without a
    token of its request, or "wasted" for one whose request had ended before the step was collected
    (engine/overlap.py). num_tokens, num_padding_tokens: computed for the request, and as
    padding. token_ids: the new tokens; none unless the row reached its sequence's end. draft: the
    draft tokens that it verified.
    """

    request_id: str
    slot: int
    kind: Kind
    num_tokens: int
    num_padding_tokens: int
    token_ids: tuple[int, ...]
    draft: tuple[int, ...] = ()

    @property
    def num_accepted(self) -> int:
        """Draft tokens that were accepted: those before the first wrong one."""
        return num_accepted(self.draft, self.token_ids)

    @property
    def num_rejected(self) -> int:
        """1 if a draft token was rejected. Those after it, or after an answer's end, were never
        verified."""
        return num_rejected(self.draft, self.token_ids)


def num_accepted(draft: tuple[int, ...], token_ids: tuple[int, ...]) -> int:
    """How many draft tokens, from the first on, are the tokens that came."""
    count = 0
    for drafted, token_id in zip(draft, token_ids, strict=False):
        if drafted != token_id:
            break
        count += 1
    return count


def num_rejected(draft: tuple[int, ...], token_ids: tuple[int, ...]) -> int:
    """1 if the draft had another token in place of one that came, else 0."""
    return int(num_accepted(draft, token_ids) < min(len(draft), len(token_ids)))


@dataclass(frozen=True)
class Miss:
    """Why the cached part of a prompt ended at its token `at`.

    reason: "partial block" (the rest does not fill a block, or is the last token, which is always
    computed); "computed now" (by `other`, which fills the same block at the moment); "diverged"
    (`other` has another token there); "evicted" (num_blocks_since evictions ago); "never seen".
    """

    reason: str
    at: int
    other: str | None = None
    num_blocks_since: int | None = None


@dataclass(frozen=True)
class Lookup:
    """What a request found in the prefix cache when it was admitted: num_hits of its num_tokens
    tokens. miss: why no more."""

    request_id: str
    num_tokens: int
    num_hits: int
    miss: Miss


@dataclass(frozen=True)
class SharingRecord:
    """What a step shared. lookups: of the requests admitted. num_evicted: cached blocks that were
    evicted. As the step ends: num_shared: blocks with two or more holders; num_cached: free blocks
    in the prefix cache."""

    lookups: tuple[Lookup, ...]
    num_evicted: int
    num_shared: int
    num_cached: int


Lane = tuple[float, float]  # begin and end, in seconds on the engine's clock


class StepTimes(NamedTuple):
    """When each part of a step ran. plan: making the plan, arrivals and checks included. launch:
    building the inputs and handing them over; without overlap it takes no time, and `forward`
    includes it. forward: the forward pass with sampling. collect: taking the tokens in, and this
    record."""

    plan: Lane
    launch: Lane
    forward: Lane
    collect: Lane


@dataclass(frozen=True)
class StepRecord:
    """One step of the engine, the `index`-th from 0. start_time and end_time are seconds on its
    clock; admitted, finished and preempted hold request ids.

    times: when its parts ran. row_values: what `rows` makes its RowRecords of, as plain tuples:
    Python's garbage collector skips those; RowRecords would take half of a long run's time.
    admitted, preempted and num_free_blocks are as planned, while it ran; num_waiting is at its end.
    waiting_names: the waiting requests, where the trace keeps names. sharing: None without shared
    blocks and prefix caching. recomputed: requests that computed lost tokens again, and how many.
    requeued: requests that an exception had put back into the queue before this step.
    """

    index: int
    start_time: float
    end_time: float
    times: StepTimes
    row_values: tuple[tuple[str, int, Kind, int, int, tuple[int, ...], tuple[int, ...]], ...]
    num_waiting: int
    waiting_names: tuple[str, ...] | None
    sharing: SharingRecord | None
    recomputed: tuple[tuple[str, int], ...]
    admitted: tuple[str, ...]
    finished: tuple[str, ...]
    preempted: tuple[str, ...]
    requeued: tuple[str, ...]
    num_free_blocks: int

    @property
    def rows(self) -> tuple[RowRecord, ...]:
        """One for each sequence that took part, in the order planned."""
        return tuple(map(RowRecord._make, self.row_values))

    @property
    def waiting(self) -> tuple[str, ...]:
        """The waiting requests, in the queue's order. Raises ValueError if the trace keeps no
        names."""
        if self.waiting_names is None:
            raise ValueError(
                "this trace keeps the number of waiting requests, num_waiting, but not their "
                "names: the names of a long queue take time and memory in every step. To keep "
                "them, use Engine(…, trace=Trace(names=True))"
            )
        return self.waiting_names

    @property
    def num_output_tokens(self) -> int:
        """New tokens of all rows together."""
        return sum([len(row[-2]) for row in self.row_values])


@dataclass(frozen=True)
class MemoryUse:
    """How the places of a pool are used at one moment, in tokens; together they are the pool.

    tokens: hold K and V. reserved: their request will fill them later. internal: their request
    never will, which is known at its end. external: lost to the allocator: rounding up, and holes
    too short for the next request. free: the rest. (After Kwon et al., 2023, section 3.1)
    """

    tokens: int
    reserved: int
    internal: int
    external: int
    free: int
