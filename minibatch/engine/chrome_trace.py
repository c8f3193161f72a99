"""A run in the format that https://ui.perfetto.dev and chrome://tracing read: slots as threads."""

from collections.abc import Iterable, Iterator

from ..core.records import StepRecord


def chrome_events(steps: Iterable[StepRecord], num_blocks: int) -> Iterator[dict[str, object]]:
    """A span for each row, and counters of requests and KV blocks for each step; microseconds."""
    steps = list(steps)
    yield {"ph": "M", "pid": 0, "name": "process_name", "args": {"name": "minibatch"}}
    for slot in sorted({row.slot for step in steps for row in step.rows}):
        thread = {"name": f"slot {slot}"}
        yield {"ph": "M", "pid": 0, "tid": slot, "name": "thread_name", "args": thread}
    for step in steps:
        begin, end = step.start_time * 1e6, step.end_time * 1e6
        for row in step.rows:
            where = {"ph": "X", "pid": 0, "tid": row.slot, "ts": begin, "dur": end - begin}
            sizes = {"tokens": row.num_tokens, "padding_tokens": row.num_padding_tokens}
            what = {"name": f"{row.request_id} {row.kind}", "cat": row.kind}
            yield where | what | {"args": {"step": step.index} | sizes}
        counts = {"running": len(step.rows), "waiting": step.num_waiting}
        yield {"ph": "C", "pid": 0, "ts": begin, "name": "requests", "args": counts}
        used = {"used": num_blocks - step.num_free_blocks}
        yield {"ph": "C", "pid": 0, "ts": begin, "name": "KV blocks", "args": used}
