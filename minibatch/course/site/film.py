"""What a control shows at each place of its slider, for a page without a kernel.

`build.run` lets a cell that makes such a control be followed by `film(_)`, in the lesson's own
kernel; the page then turns the pictures over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from IPython.display import display

from minibatch.widgets.slide import Slide
from minibatch.widgets.stepping import Stepping

MIME = "application/x-minibatch-film+json"
KINDS = "Slide|EnginePlayer|EngineRace|MemoryPlayer|BlockMap|KernelStepper"
MADE = re.compile(rf"\bmb\.widgets\.(?:{KINDS})\(")
CODE = "from minibatch.course.site.film import film; film(_)"
FIRST, MORE = 25, 11  # so many places one by one, and of all that follow so many
FAR = 100_000  # steps
BEGIN = 8  # a step at which all slots have something to show


def film(control: object) -> None:
    """Display the control's pictures for the page."""
    shown, start = frames(control)
    if len(shown) > 1:
        made = {"model_id": control.model_id, "frames": shown, "start": start}
        display({MIME: made}, raw=True)


def frames(control: object) -> tuple[list[tuple[str, str]], int]:
    """(place in words, HTML) of every picture, and the one to begin with: where the control stands,
    and still stands afterwards, or a little on from where nothing is to be seen yet."""
    if isinstance(control, Slide):
        return _slid(control)
    return _stepped(control) if isinstance(control, Stepping) else ([], 0)


def _slid(control: Slide) -> tuple[list[tuple[str, str]], int]:
    slider = control.slider
    start, shown = slider.value, []
    values = _some(getattr(slider, "options", None) or range(slider.min, slider.max + 1))
    for value in values:
        slider.value = value
        shown.append((f"{slider.description} {value:,}", control.still))
    slider.value = start
    return shown, values.index(start) if start in values else 0


def _stepped(control: Stepping) -> tuple[list[tuple[str, str]], int]:
    start, shown = control.position, []
    control.go_to(FAR)
    places = _some(range(control.last + 1))
    for place in places:
        control.go_to(place)
        shown.append((f"step {place:,}", control.still))
    control.go_to(start)
    begin = start or BEGIN
    return shown, places.index(begin) if begin in places else len(places) // 2


def _some(values: Sequence[int]) -> list[int]:
    """The first ones, and of the others some, the last among them."""
    rest = values[FIRST:]
    return [*values[:FIRST], *rest[len(rest) - 1 :: -max(1, len(rest) // MORE)][::-1]]
