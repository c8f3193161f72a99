"""What the playground shows of a run: slots, memory in use, and a table of numbers."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

from markupsafe import Markup

from ..engine.metrics import Summary
from ..engine.trace import Trace
from ..plots import svg
from ..plots.spans import Span
from .widget_templates import PAGES

FIGURES = {
    "duration_s": ("time until all are served", "{:.1f} s"),
    "num_steps": ("steps", "{:,}"),
    "slot_utilization": ("rows that yield a token", "{:.0%}"),
    "batch_fill": ("slots with a row", "{:.0%}"),
    "peak_share": ("most of the pool in use", "{:.0%}"),
    "num_preemptions": ("preemptions", "{:,}"),
    "prefix_hit_rate": ("prompt tokens found in the cache", "{:.0%}"),
    "ttft_mean_s": ("time to first token, mean", "{:.2f} s"),
    "ttft_slowest_s": ("time to first token, the slowest", "{:.2f} s"),
    "itl_max_s": ("time to a next token, the longest", "{:.2f} s"),
    "e2e_mean_s": ("time to last token, mean", "{:.2f} s"),
}


def panel(name: str, trace: Trace, end: float) -> tuple[str, Markup]:
    """The finding in words, and the picture of the slots."""

    def edges(span: Span) -> tuple[float, float]:
        return trace.steps[span.start].start_time, trace.steps[span.end - 1].end_time

    longest = trace.summary()["itl_max_s"]
    finding = f"{name}: the longest wait for a next token is {longest:.2f} s" if longest else name
    options = {"unit": "seconds", "row_height": 22}
    return finding, svg.strip(trace.steps, trace.max_batch_size, end, finding, edges, **options)


def memory(trace: Trace, end: float, num_blocks: int, block_size: int, is_endless: bool) -> Markup:
    """The number of blocks in use from step to step. With a prefix cache, also the number of free
    blocks whose content can still be found. is_endless: the pool is large enough for all requests,
    and nothing is drawn."""
    if is_endless:
        return Markup("")
    held = [num_blocks - step.num_free_blocks for step in trace.steps]
    known = [step.sharing.num_cached if step.sharing else 0 for step in trace.steps]
    both = [min(num_blocks, a + b) for a, b in zip(held, known, strict=True)]
    words = f"{max(held):,} blocks of {block_size:,} held at most, of {num_blocks:,}"
    times = [100 * step.start_time / end for step in trace.steps] + [
        100 * trace.steps[-1].end_time / end
    ]
    changes = [(trace.steps[0].start_time, held[0])]
    for (before, step), number in zip(pairwise(trace.steps), held[1:], strict=True):
        if step.start_time > before.end_time:
            changes.append((before.end_time, 0))  # no request was running
        changes.append((step.start_time, number))
    begun = [100 * time / end for time, _ in changes]
    return Markup(
        PAGES.get_template("memory.html").render(
            said=f"{words}; grey is free, and known to the cache" if any(known) else words,
            held=_area([*begun, times[-1]], [number for _, number in changes], num_blocks),
            known=_area(times, both, num_blocks) if any(known) else "",
        )
    )


def _area(times: list[float], blocks: list[int], top: int) -> str:
    """The points of a polygon in a square of 100: right is later, up is more."""
    points = [(times[0], 100.0)]
    for begin, close, number in zip(times, times[1:], blocks, strict=False):
        points += [(begin, 100 - 100 * number / top), (close, 100 - 100 * number / top)]
    return " ".join(f"{x:.5g},{y:.4g}" for x, y in [*points, (times[-1], 100)])


def summary(trace: Trace, num_blocks: int, is_endless: bool) -> Summary:
    """The trace's summary, with the slowest request instead of percentiles, which need more
    requests. Numbers without a meaning here are None."""
    found = trace.summary()
    slowest = max(completion.ttft for completion in trace.completions)
    found |= {"ttft_slowest_s": slowest, "peak_share": found["peak_blocks"] / num_blocks}
    if not has_padding(trace):
        found |= {"slot_utilization": None}
    return found | dict.fromkeys(("peak_share", "num_preemptions") if is_endless else ())


def shown_figures(summaries: Iterable[Summary]) -> dict[str, tuple[str, str]]:
    """Of FIGURES, those with a meaning in any of these."""
    summaries = list(summaries)
    return {
        key: figure
        for key, figure in FIGURES.items()
        if any(found[key] is not None for found in summaries)
    }


def gist(trace: Trace) -> str:
    """The two numbers to compare: the time until all are served, and the mean TTFT."""
    found = trace.summary()
    first = f"{found['ttft_mean_s']:.2f} s to the first token on average"
    return f"all served after {found['duration_s']:.1f} s, {first}."


def has_padding(trace: Trace) -> bool:
    """Whether any row computed padding."""
    return any(row.num_padding_tokens for step in trace.steps for row in step.rows)
