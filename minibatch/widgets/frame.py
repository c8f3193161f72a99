"""One moment of an engine as HTML: slots, queue, blocks, growing texts, a line of figures.

Drawn from records alone. What a colour says, a word or a hatch says too.
"""

import html
from dataclasses import dataclass

from ..core.records import RowRecord, StepRecord
from ..engine.engine import Engine
from ..plots.picture import colour_of, ink_on
from .strip import LEGEND, strip

LONGEST_TEXT = 90  # characters of an answer shown: its newest
MOST_CHIPS = 24  # requests named in a line; the rest are counted
CARD = "font-size: 14px; line-height: 1.5; color: #222; background: #fff; padding: 0.6em"
CELL = "padding: 1px 8px 1px 0; text-align: left; white-space: nowrap; overflow: hidden"
NEWEST_SEEN = "display: flex; justify-content: flex-end; overflow: hidden"  # too long: cut at left
HATCH = "background: repeating-linear-gradient(45deg, #fff 0 5px, #ddd 5px 6px)"


@dataclass(slots=True, frozen=True)
class Frame:
    """What is known after one step; `record` is None before the first."""

    record: StepRecord | None
    texts: dict[str, str]  # of every request, as far as it had come
    num_output_tokens: dict[str, int]
    finished: tuple[str, ...] = ()


def frame_html(engine: Engine, steps: list[StepRecord], frame: Frame, error: str = "") -> str:
    """The whole card. steps: the run up to this frame. error: what stopped the engine, if any."""
    rows = {} if frame.record is None else {row.slot: row for row in frame.record.rows}
    waiting = tuple(frame.texts) if frame.record is None else frame.record.waiting
    slots = "".join(
        _slot(slot, rows.get(slot), frame) for slot in range(engine.trace.max_batch_size)
    )
    alert = f'<p role="alert"><b>The engine stopped.</b> {html.escape(error)}</p>' if error else ""
    heads = zip(
        ("slot", "request", "this step", "tokens", "answer so far"),
        ("3em", "5em", "8em", "4em", "auto"),
        strict=True,
    )
    head = "".join(f'<th scope="col" style="{CELL}; width: {w}">{name}</th>' for name, w in heads)
    sizes = {name: f" {count}" for name, count in frame.num_output_tokens.items()}
    return (
        f'<div style="{CARD}">{_figures(steps, frame)}{alert}'
        '<table style="border-collapse: collapse; width: 100%; table-layout: fixed; margin: 0">'
        f"<thead><tr>{head}</tr></thead><tbody>{slots}</tbody></table>"
        f'<p style="margin: 0.4em 0 0">{_chips("queue", waiting)}<br>'
        f"{_chips('finished', frame.finished, sizes)}<br>{_blocks(engine, frame.record)}</p>"
        f"{_history(steps, engine.trace.max_batch_size)}</div>"
    )


def _figures(steps: list[StepRecord], frame: Frame) -> str:
    total = sum(frame.num_output_tokens.values())
    if frame.record is None:
        text = f"<b>before the first step</b> · {len(frame.texts)} requests wait"
    else:
        record = frame.record
        computed = sum(row.num_tokens + row.num_padding_tokens for row in record.rows)
        num_rows = sum(len(step.rows) for step in steps)
        text = (
            f"<b>step {len(steps):,}</b> · {_count(len(record.rows), 'row')}, "
            f"{_count(computed, 'token')} computed, "
            f"{record.num_output_tokens} new, in {(record.end_time - record.start_time) * 1e3:.1f} "
            f"ms · so far {_count(total, 'token')} out of {_count(num_rows, 'row')} = "
            f"{total / num_rows:.0%} useful"
        )
    return f'<p style="margin: 0 0 0.4em">{text}</p>'


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _slot(slot: int, row: RowRecord | None, frame: Frame) -> str:
    if row is None:
        return f'<tr><td style="{CELL}">{slot}</td><td>–</td><td style="{CELL}">empty</td></tr>'
    what = {"prefill": f"prefill {row.num_tokens:,}", "decode": "decode 1", "padding": "padding"}
    text = frame.texts.get(row.request_id, "").replace("\n", " / ")
    shown = html.escape(text if len(text) <= LONGEST_TEXT else "…" + text[-LONGEST_TEXT:])
    answer = f'<div style="{NEWEST_SEEN}"><span style="margin-right: auto">{shown}</span></div>'
    return (
        f'<tr><td style="{CELL}">{slot}</td><td style="{CELL}">{_chip(row.request_id)}</td>'
        f'<td style="{CELL}; {HATCH if row.kind == "padding" else ""}">{what[row.kind]}</td>'
        f'<td style="{CELL}">{frame.num_output_tokens.get(row.request_id, 0)}</td>'
        f'<td style="{CELL}">{answer}</td></tr>'
    )


def _chip(name: str, more: str = "") -> str:
    colour = colour_of(name)
    style = f"background: {colour}; color: {ink_on(colour)}; padding: 0 0.5em; border-radius: 3px"
    return f'<span style="{style}">{html.escape(name)}</span>{more}'


def _chips(label: str, names: tuple[str, ...], more: dict[str, str] | None = None) -> str:
    chips = " ".join(_chip(name, (more or {}).get(name, "")) for name in names[:MOST_CHIPS])
    rest = f" and {len(names) - MOST_CHIPS} more" if len(names) > MOST_CHIPS else ""
    return f"<b>{label}</b> ({len(names)}) {chips or '–'}{rest}"


def _blocks(engine: Engine, record: StepRecord | None) -> str:
    """How full the pool was while the step ran."""
    total = engine.trace.num_blocks
    used = 0 if record is None else total - record.num_free_blocks
    return (
        f'<label><b>KV blocks</b> <meter min="0" max="{total}" value="{used}" '
        f'style="width: 12em; vertical-align: middle"></meter> {used:,} of {total:,} in use</label>'
    )


def _history(steps: list[StepRecord], max_batch_size: int) -> str:
    num_rows = sum(len(step.rows) for step in steps)
    padding = sum(row.kind == "padding" for step in steps for row in step.rows)
    alt = f"Slots by steps, so far: {len(steps)} steps, {num_rows} rows, {padding} of them padding."
    end = max(60, len(steps))
    return f'<div style="margin-top: 0.5em">{strip(steps, max_batch_size, end, alt)}{LEGEND}</div>'
