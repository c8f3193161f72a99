"""Which request did what, and when, found in the step records of a run.

Three kinds of picture use it: matplotlib figures, the strip under a player, and a grader's grid of
letters.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..core.records import StepRecord

ROUNDING = 1e-9  # seconds; durations that differ by more were measured
SAME_TIME = 1e-6  # seconds; a policy that polls the clock may wake up a rounding error late


@dataclass(slots=True)
class Span:
    """A request doing one kind of thing in one slot from step `start` to before step `end`."""

    request_id: str
    slot: int
    kind: str
    start: int
    end: int


def spans(steps: Sequence[StepRecord]) -> Iterator[Span]:
    """What each slot did, as spans, in the order of their ends."""
    open_spans: dict[int, Span] = {}
    for index, step in enumerate(steps):
        for row in step.rows:
            span = open_spans.get(row.slot)
            same = span and span.end == index and span.request_id == row.request_id
            if same and span.kind == row.kind:
                span.end = index + 1
            else:
                if span:
                    yield span
                open_spans[row.slot] = Span(row.request_id, row.slot, row.kind, index, index + 1)
    yield from open_spans.values()


def pauses(steps: Sequence[StepRecord], found: Iterable[Span]) -> Iterator[Span]:
    """Spans in which a request kept its slot but had no row, as "waiting". found: the `spans` of
    these steps."""
    before: dict[int, Span] = {}
    for span in found:
        last = before.get(span.slot)
        before[span.slot] = span
        if last and last.request_id == span.request_id and last.end < span.start:
            left = [*steps[last.end - 1].finished]
            left += [name for step in steps[last.end : span.start] for name in step.preempted]
            if span.request_id not in left:
                yield Span(span.request_id, span.slot, "waiting", last.end, span.start)


def kinds(step: StepRecord) -> dict[str, str]:
    """What each request did in a step: "prefill", "decode" or "padding", or "waiting" if the trace
    keeps the names of waiting requests. Absent requests are left out."""
    waiting = dict.fromkeys(step.waiting_names or (), "waiting")
    return waiting | {row.request_id: row.kind for row in step.rows}


def first_difference(expected: Sequence[StepRecord], yours: Sequence[StepRecord]) -> int | None:
    """Index of the first step whose rows differ (in any order), or that only one run has. None if
    the runs agree."""
    for index in range(max(len(expected), len(yours))):
        steps = [run[index] if index < len(run) else None for run in (expected, yours)]
        if None in steps or _rows(steps[0]) != _rows(steps[1]):
            return index
    return None


def first_other_time(expected: Sequence[StepRecord], yours: Sequence[StepRecord]) -> int | None:
    """Index of the first step that begins at another time, before the rows differ. None if there
    is none, or if time was measured: measured steps always differ in length."""
    part = first_difference(expected, yours)
    pairs = list(zip(expected[:part], yours[:part], strict=False))
    if any(abs(_duration(a) - _duration(b)) > ROUNDING for a, b in pairs):
        return None
    times = (i for i, (a, b) in enumerate(pairs) if abs(a.start_time - b.start_time) > SAME_TIME)
    return next(times, None)


def _duration(step: StepRecord) -> float:
    return step.end_time - step.start_time


def _rows(step: StepRecord) -> list[tuple[str, int, int]]:
    return sorted((row.request_id, row.num_tokens, row.num_padding_tokens) for row in step.rows)
