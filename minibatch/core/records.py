"""One step, as it is remembered: what plots, metrics and learners read."""

from dataclasses import dataclass
from typing import NamedTuple

from .plan import Kind


class RowRecord(NamedTuple):
    """One row of one step, of the request `request_id`.

    slot: its place in the batch, from 0. kind: "prefill", "decode", or "padding" when nothing in it
    was for its request any more. num_tokens, num_padding_tokens: computed for it, and for nothing.
    token_ids: what it produced; nothing, unless it reached the end of its sequence. draft: what was
    guessed of it.
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
        """Guesses that were right, up to the first wrong one."""
        return num_accepted(self.draft, self.token_ids)

    @property
    def num_refused(self) -> int:
        """1 if a guess was wrong: those after it were never judged, nor those after an answer's
        end."""
        return num_refused(self.draft, self.token_ids)


def num_accepted(draft: tuple[int, ...], token_ids: tuple[int, ...]) -> int:
    """How many guesses are the tokens that came, from the first on."""
    count = 0
    for guess, token_id in zip(draft, token_ids, strict=False):
        if guess != token_id:
            break
        count += 1
    return count


def num_refused(draft: tuple[int, ...], token_ids: tuple[int, ...]) -> int:
    """Whether one of the tokens that came was guessed otherwise, 1 or 0."""
    return int(num_accepted(draft, token_ids) < min(len(draft), len(token_ids)))


@dataclass(frozen=True)
class Miss:
    """Why the cached part of a prompt ended at its token `at`.

    reason: "partial block" (the rest fills none, or is the last token, which is always computed);
    "computed now" (by `other`, at work on the same block); "diverged" (`other` went on with another
    token there); "evicted" (num_blocks_since blocks were, since); "never seen".
    """

    reason: str
    at: int
    other: str | None = None
    num_blocks_since: int | None = None


@dataclass(frozen=True)
class Lookup:
    """What a request found in the prefix cache when it was admitted: num_hits of its num_tokens
    tokens, and why no more."""

    request_id: str
    num_tokens: int
    num_hits: int
    miss: Miss


@dataclass(frozen=True)
class SharingRecord:
    """What a step shared. lookups: of those admitted; num_evicted: known blocks that were given
    away; num_copies: blocks copied on write; num_shared: blocks that two or more hold as it ends;
    num_cached: free blocks whose content is known then."""

    lookups: tuple[Lookup, ...]
    num_evicted: int
    num_copies: int
    num_shared: int
    num_cached: int


@dataclass(frozen=True)
class StepRecord:
    """One step of the engine, the `index`-th from 0. start_time and end_time are seconds on its
    clock; admitted, finished and preempted hold request ids.

    row_values: what `rows` makes its RowRecords of. They are kept as plain tuples because Python's
    garbage collector leaves those alone; a long run's RowRecords would cost it half of the time.
    admitted, preempted and num_free_blocks are as planned, while it ran; num_waiting as it was
    left. waiting_names: who waited, where the trace keeps names. sharing: None without forks and
    prefix caching. recomputed: who computed tokens again that a preemption had thrown away, and how
    many.
    """

    index: int
    start_time: float
    end_time: float
    row_values: tuple[tuple[str, int, Kind, int, int, tuple[int, ...], tuple[int, ...]], ...]
    num_waiting: int
    waiting_names: tuple[str, ...] | None
    sharing: SharingRecord | None
    recomputed: tuple[tuple[str, int], ...]
    admitted: tuple[str, ...]
    finished: tuple[str, ...]
    preempted: tuple[str, ...]
    num_free_blocks: int

    @property
    def rows(self) -> tuple[RowRecord, ...]:
        """One for each sequence that took part, in the order planned."""
        return tuple(map(RowRecord._make, self.row_values))

    @property
    def waiting(self) -> tuple[str, ...]:
        """Who waited, in the queue's order. Raises ValueError if the trace keeps no names."""
        if self.waiting_names is None:
            raise ValueError(
                "who waited was not kept, since a long queue's names at every step take long and "
                "much memory (num_waiting counts them); ask for it with "
                "Engine(…, trace=Trace(names=True))"
            )
        return self.waiting_names

    @property
    def num_output_tokens(self) -> int:
        """New tokens of all rows together."""
        return sum([len(row[-2]) for row in self.row_values])


@dataclass(frozen=True)
class MemoryUse:
    """What the places of a pool are good for at one moment, in tokens; together they are the pool.

    tokens: hold K and V. reserved: their request will fill them later. internal: their request
    never will, which is known at its end. external: lost to the allocator: rounding up, and holes
    too short for whoever is next. free: the rest. (After Kwon et al., 2023, section 3.1)
    """

    tokens: int
    reserved: int
    internal: int
    external: int
    free: int
