"""One moment of an engine as HTML: slots, queue, blocks, growing texts, a line of figures.

Drawn from records alone. What a colour says, a word or a hatch says too.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.records import StepRecord
from ..engine.trace import Trace
from ..plots.colours import colour_of, ink_on
from ..plots.pages import pages
from ..plots.svg import strip

LONGEST_TEXT = 90  # characters of an answer shown: its newest
MOST_CHIPS = 24  # requests named in a line; the rest are counted
SHORTEST_STRIP = 60  # steps


def count(number: int, what: str) -> str:
    """ "1 row", "1,200 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def ms(seconds: float) -> str:
    """Milliseconds, to three digits."""
    return f"{seconds * 1e3:.3g}"


NAMES = {"colour_of": colour_of, "ink_on": ink_on, "count": count, "ms": ms}
PAGES = pages(__file__, **NAMES, most_chips=MOST_CHIPS)


@dataclass(slots=True, frozen=True)
class Frame:
    """What is known after one step; `record` is None before the first."""

    record: StepRecord | None
    texts: dict[str, str]  # of every request, as far as it had come
    num_output_tokens: dict[str, int]
    finished: tuple[str, ...] = ()


def frame_html(trace: Trace, steps: Sequence[StepRecord], frame: Frame, error: str = "") -> str:
    """The whole card. steps: the run up to this frame. error: what stopped the engine, if any."""

    def newest(request_id: str) -> str:
        text = frame.texts.get(request_id, "").replace("\n", " / ")
        return text if len(text) <= LONGEST_TEXT else "…" + text[-LONGEST_TEXT:]

    record = frame.record
    rows = () if record is None else record.rows
    num_rows = sum(len(step.rows) for step in steps)
    padding = sum(row.kind == "padding" for step in steps for row in step.rows)
    alt = f"Slots by steps, so far: {len(steps)} steps, {num_rows} rows, {padding} of them padding."
    return PAGES.get_template("frame.html").render(
        trace=trace,
        steps=steps,
        frame=frame,
        error=error,
        newest=newest,
        record=record,
        rows={row.slot: row for row in rows},
        waiting=tuple(frame.texts) if record is None else record.waiting,
        num_used=0 if record is None else trace.num_blocks - record.num_free_blocks,
        num_computed=sum(row.num_tokens + row.num_padding_tokens for row in rows),
        num_tokens=sum(frame.num_output_tokens.values()),
        num_rows=num_rows,
        strip=strip(steps, trace.max_batch_size, max(SHORTEST_STRIP, len(steps)), alt),
    )
