"""What a control shows at each place of its slider, for a page without a kernel.

`build.run` lets a cell that makes such a control be followed by `film_last()`, in the lesson's own
kernel; the page then turns the pictures over.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from IPython import get_ipython
from IPython.display import display

MIME = "application/x-minibatch-film+json"
SLIDERS = {"Slide": "slider", "Playground": "budget"}  # which of its controls is moved
STEPPERS = "EnginePlayer", "EngineRace", "MemoryPlayer", "BlockMap", "KernelStepper"
WINDOWS = [  # traffic, window, stream: what lesson 3 asks its WindowSlider for
    *(("independent, load 0.7", 2.0, stream) for stream in range(1, 7)),
    *(("bursts, load 0.3", window, 1) for window in (0.5, 0.25)),
]
MADE = re.compile(rf"\bmb\.widgets\.(?:{'|'.join([*SLIDERS, *STEPPERS, 'WindowSlider'])})\(")
CODE = "from minibatch.course.site.slider_film import film_last; film_last()"
FIRST, MORE = 25, 11  # so many values one by one, and of all that follow so many
MOST, AT_FIRST = 500, 100  # steps: a longer run has so many at first, and then those that matter
FAR = 100_000  # steps
_ID = re.compile(r'(\bid="|url\(#|href="#)([a-z-]+)(\d+)(?=["\)])')


def film_last() -> None:
    """Film what the cell before came to. (Not `_`: it stays behind once a lesson sets it.)"""
    names = get_ipython().user_ns
    film(names["_oh"].get(len(names["_ih"]) - 2))  # the newest input is this one


def film(control: object) -> None:
    """Display the control's pictures for the page."""
    shown, start = frames(control)
    if len(shown) > 1:
        made = {"model_id": control.model_id, "frames": shown, "start": start}
        display({MIME: made}, raw=True)


def frames(control: object) -> tuple[list[tuple[str, str]], int]:
    """(place in words, HTML) of every picture, and the one to begin with: where the control stands,
    and still stands afterwards, or a little on from where nothing is to be seen yet."""
    kind = type(control).__name__
    if kind in SLIDERS:
        return _slid(control, getattr(control, SLIDERS[kind]))
    if kind == "WindowSlider":
        return _windows(control), 0
    return _stepped(control) if kind in STEPPERS else ([], 0)


def _slid(control: object, slider: object) -> tuple[list[tuple[str, str]], int]:
    start, shown = slider.value, []
    values = _some(_values(slider))
    for words, value in values:
        slider.value = value
        shown.append((f"{slider.description} {words}", _still(control)))
    slider.value = start
    return shown, next((i for i, (_, value) in enumerate(values) if value == start), 0)


def _values(slider: object) -> list[tuple[str, int]]:
    """All that it can be set to, in words and as such."""
    values = getattr(slider, "options", None) or range(slider.min, slider.max + 1)
    return [value if isinstance(value, tuple) else (f"{value:,}", value) for value in values]


def _windows(control: object) -> list[tuple[str, str]]:
    settings = control.name, control.window, control.stream
    start, shown = [each.value for each in settings], []
    for name, window, stream in WINDOWS:
        if name in control.name.options:
            for each, value in zip(settings, (name, window, stream), strict=True):
                each.value = value
            place = f"{name}: window {window:g} s, stream {stream}"
            shown.append((place, _still(control)))
    for each, value in zip(settings, start, strict=True):
        each.value = value
    return shown


def _stepped(control: object) -> tuple[list[tuple[str, str]], int]:
    start, shown = control.position, []
    control.go_to(FAR)
    places = _places(control.position, getattr(control, "turns", ()))
    for place in places:
        control.go_to(place)
        shown.append((f"step {place:,}", _still(control)))
    control.go_to(start)
    middle = len(places) // 2  # where there is most to see
    return shown, places.index(start) if start and start in places else middle


def _places(last: int, turns: Sequence[int]) -> list[int]:
    """Every step of a short run; of a long one the first, the turns with their neighbours, some."""
    if last <= MOST:
        return list(range(last + 1))
    near = {turn + aside for turn in turns for aside in (-1, 0, 1)}
    some = _some(range(AT_FIRST, last + 1))[FIRST:]
    return sorted({*range(AT_FIRST), *some, *near} & {*range(last + 1)})


def _some(values: Sequence) -> list:
    """The first ones, and of the others some, the last among them."""
    rest = values[FIRST:]
    return [*values[:FIRST], *rest[len(rest) - 1 :: -max(1, len(rest) // MORE)][::-1]]


def _still(control: object) -> str:
    """What it shows. The ids in a picture are numbered anew each time it is drawn; counted from its
    own first one, what is the same in two pictures is the same text."""
    numbers: dict[str, int] = {}

    def renamed(found: re.Match) -> str:
        number = numbers.setdefault(found[3], len(numbers))
        return f"{found[1]}{found[2]}{control.model_id[:8]}-{number}"

    return _ID.sub(renamed, control.still)
