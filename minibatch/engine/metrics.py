"""The figures of a run: throughput, latencies, utilisation. Names follow vLLM's.

Latencies leave out requests that were aborted, refused, or ended at their deadline. Percentiles
interpolate linearly between the two nearest.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..core.completion import Completion
from ..core.records import StepRecord, num_accepted, num_rejected

Summary = dict[str, float | int | None]
LATENCIES = ("ttft", "tpot", "e2e", "queue")
ENDINGS = ("served", "abort", "deadline", "refused")


class Totals(NamedTuple):
    """Sums over steps, so that the steps need not be kept. It never changes: `plus` makes
    another."""

    num_steps: int = 0
    num_rows: int = 0
    output_tokens: int = 0
    num_preemptions: int = 0
    recomputed_tokens: int = 0
    least_free_blocks: int | None = None
    lookup_tokens: int = 0
    hit_tokens: int = 0
    num_evictions: int = 0
    num_requeued: int = 0
    num_drafts: int = 0  # rows with a draft
    draft_tokens: int = 0  # new tokens of these rows
    num_drafted: int = 0  # draft tokens
    num_accepted: int = 0
    num_rejected: int = 0  # without those after the first wrong one, which were never verified
    num_wasted_rows: int = 0
    begin: float = math.inf  # seconds, of the first step
    end: float = 0.0  # of the last

    def plus(self, step: StepRecord) -> Totals:
        """These sums and one more step."""
        free, least = step.num_free_blocks, self.least_free_blocks
        shared = step.sharing
        lookups = shared.lookups if shared is not None else ()
        drafts = [(row[-1], row[-2]) for row in step.row_values if row[-1]]  # draft, new tokens
        return Totals(
            num_steps=self.num_steps + 1,
            num_rows=self.num_rows + len(step.row_values),
            output_tokens=self.output_tokens + step.num_output_tokens,
            num_preemptions=self.num_preemptions + len(step.preempted),
            recomputed_tokens=self.recomputed_tokens + sum([n for _, n in step.recomputed]),
            least_free_blocks=free if least is None else min(least, free),
            lookup_tokens=self.lookup_tokens + sum([lookup.num_tokens for lookup in lookups]),
            hit_tokens=self.hit_tokens + sum([lookup.num_hits for lookup in lookups]),
            num_evictions=self.num_evictions + (shared.num_evicted if shared else 0),
            num_requeued=self.num_requeued + len(step.requeued),
            num_drafts=self.num_drafts + len(drafts),
            draft_tokens=self.draft_tokens + sum([len(new) for _, new in drafts]),
            num_drafted=self.num_drafted + sum([len(draft) for draft, _ in drafts]),
            num_accepted=self.num_accepted + sum([num_accepted(*pair) for pair in drafts]),
            num_rejected=self.num_rejected + sum([num_rejected(*pair) for pair in drafts]),
            num_wasted_rows=self.num_wasted_rows
            + sum([row[2] == "wasted" for row in step.row_values]),
            begin=min(self.begin, step.start_time),
            end=step.end_time,
        )


class Latencies:
    """Arrival and latencies of every request that has ended, in seconds, NaN where it has none; and
    the time from each token of an answer to the next (ITL)."""

    def __init__(self) -> None:
        self._seconds = array("d")
        self._gaps = array("d")

    def put(self, number: int, completion: Completion) -> None:
        """Store request `number`, counted from 0, over what an interrupted call left there."""
        c, nothing, width = completion, math.nan, len(LATENCIES) + 3
        del self._seconds[number * width :]
        del self._gaps[int(self._seconds[-1]) if number else 0 :]
        seconds = [c.arrival_time, *[nothing] * len(LATENCIES)]
        if c.was_served:
            queue = nothing
            if c.first_scheduled_time is not None:
                queue = c.first_scheduled_time - c.arrival_time
            seconds[1:] = [c.ttft, nothing if c.tpot is None else c.tpot, c.e2e, queue]
            self._gaps.extend(inter_token_times(c))
        ending = ENDINGS.index("served" if c.was_served else c.finish_reason)
        self._seconds.extend([*seconds, ending, len(self._gaps)])

    def columns(self) -> dict[str, Sequence[float]]:
        """Seconds by name, "arrival", LATENCIES and "itl", where there are any; and "ending", a
        place in ENDINGS for each."""
        names = ("arrival", *LATENCIES, "ending", "gaps")
        values = (self._seconds[i :: len(names)] for i in range(len(names)))
        columns = {
            name: [value for value in column if not math.isnan(value)]
            for name, column in zip(names, values, strict=True)
        }
        return columns | {"itl": self._gaps}


def inter_token_times(completion: Completion) -> list[float]:
    """Seconds from each token of an answer to the next. Tokens of one step come 0 s apart."""
    times = completion.token_times
    return [after - before for before, after in zip(times, times[1:], strict=False)]


def summary_of(
    totals: Totals, latencies: Latencies, max_batch_size: int, num_blocks: int
) -> Summary:
    """Counts, seconds (`_s`) and shares of 1.

    duration_s: from the first arrival or step, whichever is earlier, to the end of the last step.
    slot_utilization: output tokens per row computed, padding rows included.
    batch_fill: rows computed per slot and step.
    itl: the time from each token of an answer to the next, of all answers together.
    recomputed_tokens: computed again after a preemption. num_requeued: requests put back into the
    queue by an exception. num_refused: came to a full queue; num_deadline: waited past their
    deadline. Latencies are of those served.
    prefix_hit_rate: tokens found in the prefix cache per token looked up, those of preempted
    requests again. num_drafted, num_accepted: draft tokens. acceptance_rate: accepted per verified
    draft token; those after a rejected one are not verified. tokens_per_draft: new tokens of a row
    with a draft. num_wasted_rows: computed for a request that had ended (engine/overlap.py).
    """
    seconds = latencies.columns()
    begin = min(totals.begin, min(seconds["arrival"], default=math.inf))
    duration = float(totals.end - begin) if totals.num_steps else 0.0
    tokens, rows, steps = totals.output_tokens, totals.num_rows, totals.num_steps
    summary: Summary = {
        "num_requests": len(seconds["e2e"]),
        "num_steps": steps,
        "duration_s": duration,
        "output_tokens": tokens,
        "output_tokens_per_s": tokens / duration if duration else None,
        "slot_utilization": tokens / rows if rows else None,
        "batch_fill": rows / (steps * max_batch_size) if steps else None,
    }
    for name in LATENCIES:
        summary |= _spread(name, seconds[name], median=name != "queue")
    itl = seconds["itl"]
    summary |= _spread("itl", itl) | {"itl_max_s": max(itl, default=None)}
    for ending in ("refused", "deadline"):
        summary[f"num_{ending}"] = seconds["ending"].count(ENDINGS.index(ending))
    least = totals.least_free_blocks
    summary["num_preemptions"] = totals.num_preemptions
    summary["recomputed_tokens"] = totals.recomputed_tokens
    summary["peak_blocks"] = 0 if least is None else num_blocks - least
    asked = totals.lookup_tokens
    summary["prefix_hit_rate"] = totals.hit_tokens / asked if asked else None
    summary["num_evictions"], summary["num_requeued"] = totals.num_evictions, totals.num_requeued
    verified, drafts = totals.num_accepted + totals.num_rejected, totals.num_drafts
    summary["num_drafted"], summary["num_accepted"] = totals.num_drafted, totals.num_accepted
    summary["acceptance_rate"] = totals.num_accepted / verified if verified else None
    summary["tokens_per_draft"] = totals.draft_tokens / drafts if drafts else None
    summary["num_wasted_rows"] = totals.num_wasted_rows
    return summary


def summarize(
    steps: Iterable[StepRecord],
    completions: Iterable[Completion],
    max_batch_size: int,
    num_blocks: int,
) -> Summary:
    """The figures of the steps and requests given, as `summary_of` has them."""
    totals, latencies = Totals(), Latencies()
    for step in steps:
        totals = totals.plus(step)
    for number, completion in enumerate(completions):
        latencies.put(number, completion)
    return summary_of(totals, latencies, max_batch_size, num_blocks)


def side_by_side(summaries: Mapping[str, Summary], keys: Iterable[str] | None = None) -> str:
    """Several summaries as one Markdown table: a row for each key, a column for each name."""
    keys = list(keys or next(iter(summaries.values())))
    lines = ["| | " + " | ".join(summaries) + " |", "|---|" + "---:|" * len(summaries)]
    for key in keys:
        cells = [_cell(key, summary[key]) for summary in summaries.values()]
        lines.append(f"| `{key}` | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(key: str, value: float | int | None) -> str:
    if value is None:
        return "–"
    if key in ("slot_utilization", "batch_fill", "prefix_hit_rate", "acceptance_rate"):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _spread(name: str, values: Sequence[float], median: bool = True) -> Summary:
    shares = {"p50": 0.5, "p99": 0.99} if median else {"p99": 0.99}
    if not values:
        return dict.fromkeys([f"{name}_{key}_s" for key in ("mean", *shares)])
    ordered = sorted(values)
    spread = {key: _percentile(ordered, share) for key, share in shares.items()}
    return {
        f"{name}_{key}_s": seconds
        for key, seconds in ({"mean": math.fsum(values) / len(values)} | spread).items()
    }


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share of the values is, between the two nearest."""
    place = share * (len(ordered) - 1)
    below = ordered[int(place)]
    return below + (ordered[math.ceil(place)] - below) * (place - int(place))
