"""Frames of several films of the same requests, side by side: a lane for each engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from .events import step_text
from .frame import event_html, is_over, num_padding, run_html, slots_html, waiting_at
from .run_film import Film
from .widget_templates import PAGES, count

TEXT = 60  # characters of an answer shown


@dataclass
class Lane:
    """The part of the picture for one engine. place: the number of its frame."""

    name: str
    film: Film
    place: int
    num_tokens: int
    padding: int
    waiting: tuple[str, ...]
    flag: str
    slots: Markup
    strip: Markup


def lane(
    name: str,
    film: Film,
    place: int,
    end: float,
    own: dict[str, str],
    in_seconds: bool = False,
    guess: float | None = None,
) -> Lane:
    """The lane of one film at its frame `place`, its strip from 0 to `end`. own: colours of the
    highlighted requests. guess: a prediction of a place on the strip."""
    frame = film.frames[place]
    flag = ""
    if is_over(film, place):
        flag = f"⚑ {count(place, 'step')}, {frame.seconds:.3g} s"
    return Lane(
        name,
        film,
        place,
        sum(frame.num_output_tokens.values()),
        num_padding(film, place),
        waiting_at(film, place),
        flag,
        slots_html(film, place, own, TEXT, brief=True),
        run_html(film, place, own, end, in_seconds, flag, 16, guess),
    )


def lanes_html(lanes: Sequence[Lane], own: dict[str, str]) -> tuple[str, str]:
    """What happened in each lane's step, and the picture of all lanes."""
    furthest = max(lane.place for lane in lanes)
    said = [(f"{lane.name}, step {lane.place:,}", _event_text(lane, furthest)) for lane in lanes]
    return event_html(*said), PAGES.get_template("race.html").render(lanes=lanes, own=own)


def _event_text(lane: Lane, furthest: int) -> str:
    """What happened in a lane's step; or that it is over, if others have gone on."""
    if lane.flag and lane.place < furthest:
        return "has finished."
    return step_text(lane.film, lane.place) or "before the first step."
