"""What a run amounts to: throughput, latencies, utilisation. Names follow vLLM's.

Latencies leave aborted requests out. Percentiles interpolate linearly between the two nearest.
"""

from array import array
from collections.abc import Iterable, Mapping

import numpy as np

from ..core.records import StepRecord
from ..core.request import Completion

Summary = dict[str, float | int | None]


class Tally:
    """A run's figures, added up step by step, so that no step need be kept for them."""

    def __init__(self) -> None:
        self.num_steps = self.num_rows = self.output_tokens = 0
        self.num_requests = self.num_preemptions = 0
        self.least_free_blocks: int | None = None
        self.begin: float | None = None  # the first arrival or step
        self.end = 0.0
        self.seconds = {name: array("d") for name in ("ttft", "tpot", "e2e", "queue")}

    def add_step(self, step: StepRecord) -> None:
        """Count a step that has been taken."""
        if not self.num_steps:
            self._begin(step.start_time)
        self.num_steps += 1
        self.num_rows += len(step.rows)
        self.output_tokens += step.num_output_tokens
        self.num_preemptions += len(step.preempted)
        free, least = step.num_free_blocks, self.least_free_blocks
        self.least_free_blocks = free if least is None else min(least, free)
        self.end = step.end_time

    def add_completion(self, completion: Completion) -> None:
        """Count a request that has ended; an aborted one has no latencies."""
        self._begin(completion.arrival_time)
        if completion.finish_reason == "abort":
            return
        self.num_requests += 1
        self._note("ttft", completion.ttft)
        self._note("tpot", completion.tpot)
        self._note("e2e", completion.e2e)
        if completion.first_scheduled_time is not None:
            self._note("queue", completion.first_scheduled_time - completion.arrival_time)

    def summary(self, max_batch_size: int, num_blocks: int) -> Summary:
        """Counts, seconds (`_s`) and shares of 1.

        duration_s: from the first arrival or step, whichever is earlier, to the end of the last
        step. slot_utilization: output tokens per row computed, padding rows included. batch_fill:
        rows computed per slot and step.
        """
        duration = self.end - self.begin if self.num_steps else 0.0
        tokens, rows = self.output_tokens, self.num_rows
        least = self.least_free_blocks
        summary: Summary = {
            "num_requests": self.num_requests,
            "num_steps": self.num_steps,
            "duration_s": duration,
            "output_tokens": tokens,
            "output_tokens_per_s": tokens / duration if duration else None,
            "slot_utilization": tokens / rows if rows else None,
            "batch_fill": rows / (self.num_steps * max_batch_size) if self.num_steps else None,
        }
        for name, values in self.seconds.items():
            summary |= _spread(name, values, median=name != "queue")
        summary["num_preemptions"] = self.num_preemptions
        summary["peak_blocks"] = 0 if least is None else num_blocks - least
        return summary

    def _begin(self, time: float) -> None:
        self.begin = time if self.begin is None else min(self.begin, time)

    def _note(self, name: str, seconds: float | None) -> None:
        if seconds is not None:
            self.seconds[name].append(seconds)


def summarize(
    steps: Iterable[StepRecord],
    completions: Iterable[Completion],
    max_batch_size: int,
    num_blocks: int,
) -> Summary:
    """The figures of the steps and requests given, as `Tally.summary` has them."""
    tally = Tally()
    for step in steps:
        tally.add_step(step)
    for completion in completions:
        tally.add_completion(completion)
    return tally.summary(max_batch_size, num_blocks)


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
    if key in ("slot_utilization", "batch_fill"):
        return f"{value:.1%}"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


def _spread(name: str, values: array, median: bool = True) -> Summary:
    figures = {"mean": np.mean, "p50": np.median, "p99": lambda v: np.percentile(v, 99)}
    if not median:
        del figures["p50"]
    return {
        f"{name}_{key}_s": float(figure(values)) if values else None
        for key, figure in figures.items()
    }
