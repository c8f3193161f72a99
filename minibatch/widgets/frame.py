"""One frame of an engine as HTML: the last event, slots, queue, answers so far, the run so far.

It is drawn from records only. A word or a hatch repeats the meaning of each colour.
"""

from collections.abc import Sequence

from markupsafe import Markup

from ..plots.colours import own_colours
from ..plots.spans import Span
from ..plots.svg import strip
from .events import step_text
from .run_film import Film
from .widget_templates import PAGES, count

LONGEST_TEXT = 90  # characters of an answer shown: its newest
SHORTEST_STRIP = 60  # steps
SCARCE = 1 / 3  # share of the pool: from here on, memory is shown as scarce


def event_html(*events: tuple[str, str]) -> str:
    """One line for each (title, text); a screen reader reads it when it changes."""
    return PAGES.get_template("event.html").render(events=events)


def event(film: Film, position: int, slot: str = "slot") -> tuple[str, str]:
    """Title and text of the step that led to that frame. slot: as in `step_text`."""
    waiting = len(film.frames[0].texts)
    if position == 0:
        return "before the first step", f"{count(waiting, 'request')} wait{'s' * (waiting == 1)}."
    return f"step {position:,}", step_text(film, position, slot)


def slots_html(
    film: Film,
    position: int,
    own: dict[str, str],
    longest: int = LONGEST_TEXT,
    brief: bool = False,
    narrow: bool = False,
    slot: str = "slot",
) -> Markup:
    """A row for each slot: its request, its kind of work, and the end of the answer.

    own: colours of the highlighted requests. longest: characters of an answer shown. brief: leave
    out the kind of work, except padding, and the number of tokens. narrow: leave out only that
    number, so that the answer has room. slot: the title of the first column.
    """
    frame = film.frames[position]
    record = frame.record
    rows = {} if record is None else {row.slot: row for row in record.rows}

    def answer(request_id: str) -> tuple[str, str]:
        """The old text, cut on the left, and the text of this step."""
        text, new = frame.texts.get(request_id, ""), frame.newest.get(request_id, "")
        old = text[: len(text) - len(new)].replace("\n", " / ")
        return (old if len(old) <= longest else "…" + old[-longest:]), new.replace("\n", " / ")

    page = PAGES.get_template("slots.html")
    return Markup(
        page.render(
            frame=frame,
            rows=rows,
            num_slots=film.trace.max_batch_size,
            last=() if record is None else record.finished,
            answer=answer,
            own=own,
            brief=brief,
            narrow=narrow,
            slot_title=slot,
        )
    )


def run_html(
    film: Film,
    position: int,
    own: dict[str, str],
    end: float,
    in_seconds: bool,
    flag: str = "",
    row_height: int = 18,
    guess: float | None = None,
) -> Markup:
    """The strip of the run up to that frame, from 0 to `end` steps or seconds.

    flag: the label at its end, if the run is over. guess: a prediction of a place on it.
    """
    steps = film.steps(position)
    num_rows, padding = film.frames[position].num_rows, num_padding(film, position)
    alt = f"Slots by steps, so far: {len(steps)} steps, {num_rows} rows, {padding} of them padding."

    def in_time(span: Span) -> tuple[float, float]:
        return film.frames[span.start].seconds, film.frames[span.end].seconds

    edges = {"edges": in_time} if in_seconds else {}
    place = film.frames[position].seconds if in_seconds else position
    return strip(
        steps,
        film.trace.max_batch_size,
        end,
        alt,
        **edges,
        unit="seconds" if in_seconds else "steps",
        row_height=row_height,
        highlight=tuple(own),
        flag=(place, flag) if flag else None,
        guess=guess,
    )


def frame_html(
    film: Film,
    position: int,
    highlight: Sequence[str] = (),
    in_seconds: bool = False,
    show_plan: bool = False,
) -> str:
    """The whole card of one frame; the event line is in `event_html`."""
    frame, trace = film.frames[position], film.trace
    own = own_colours(highlight)
    record = frame.record
    used = [trace.num_blocks - step.num_free_blocks for step in film.steps(position)] or [0]
    leaving = () if record is None or is_over(film, position) else record.finished
    end = film.frames[-1].seconds if in_seconds else max(SHORTEST_STRIP, film.last)
    rows = () if record is None else record.rows
    return PAGES.get_template("frame.html").render(
        film=film,
        position=position,
        frame=frame,
        record=record,
        own=own,
        slots=slots_html(film, position, own, narrow=show_plan),
        waiting=waiting_at(film, position),
        finished=frame.finished[: len(frame.finished) - len(leaving)],
        num_computed=sum(row.num_tokens + row.num_padding_tokens for row in rows),
        num_padded=sum(row.num_padding_tokens for row in rows),
        num_tokens=sum(frame.num_output_tokens.values()),
        padding=num_padding(film, position),
        num_used=used[-1],
        most_used=max(used),
        num_blocks=trace.num_blocks,
        is_scarce=max(used) >= SCARCE * trace.num_blocks,
        strip=run_html(film, position, own, end, in_seconds),
        show_plan=show_plan,
    )


def is_over(film: Film, position: int) -> bool:
    """Whether that frame is the last one of the run."""
    return position == film.last and not film.engine.has_work


def waiting_at(film: Film, position: int) -> tuple[str, ...]:
    """The queue at that frame."""
    frame = film.frames[position]
    return tuple(frame.texts) if frame.record is None else frame.record.waiting


def num_padding(film: Film, position: int) -> int:
    """Rows of padding up to that frame."""
    return sum(film.frames[position].padded.values())
