"""What a run amounts to: throughput, latencies, utilisation. Names follow vLLM's.

Latencies leave aborted requests out. Percentiles interpolate linearly between the two nearest.
"""

from collections.abc import Iterable, Mapping

import numpy as np

from .records import StepRecord
from .request import Completion

Summary = dict[str, float | int | None]


def summarize(
    steps: list[StepRecord], completions: list[Completion], max_batch_size: int, num_blocks: int
) -> Summary:
    """Counts, seconds (`_s`) and shares of 1, of the steps and requests given.

    duration_s: from the first arrival or step, whichever is earlier, to the end of the last step.
    slot_utilization: output tokens per row computed, padding rows included.
    batch_fill: rows computed per slot and step.
    """
    done = [c for c in completions if c.finish_reason != "abort"]
    beginnings = [steps[0].start_time] if steps else []
    beginnings += [c.arrival_time for c in completions]
    duration = steps[-1].end_time - min(beginnings) if steps else 0.0
    num_rows = sum(len(step.rows) for step in steps)
    output_tokens = sum(step.num_output_tokens for step in steps)
    summary: Summary = {
        "num_requests": len(done),
        "num_steps": len(steps),
        "duration_s": duration,
        "output_tokens": output_tokens,
        "output_tokens_per_s": output_tokens / duration if duration else None,
        "slot_utilization": output_tokens / num_rows if num_rows else None,
        "batch_fill": num_rows / (len(steps) * max_batch_size) if steps else None,
    }
    scheduled = [c for c in done if c.first_scheduled_time is not None]
    queue = [c.first_scheduled_time - c.arrival_time for c in scheduled]
    summary |= _spread("ttft", [c.ttft for c in done])
    summary |= _spread("tpot", [c.tpot for c in done if c.tpot is not None])
    summary |= _spread("e2e", [c.e2e for c in done])
    summary |= _spread("queue", queue, median=False)
    summary["num_preemptions"] = sum(len(step.preempted) for step in steps)
    summary["peak_blocks"] = max((num_blocks - s.num_free_blocks for s in steps), default=0)
    return summary


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


def _spread(name: str, values: Iterable[float], median: bool = True) -> Summary:
    values = np.array(list(values), dtype=float)
    figures = {"mean": np.mean, "p50": np.median, "p99": lambda v: np.percentile(v, 99)}
    if not median:
        del figures["p50"]
    return {
        f"{name}_{key}_s": float(figure(values)) if len(values) else None
        for key, figure in figures.items()
    }
