"""What a control shows at each place of its slider, for a page without a kernel.

`build_site.run` inserts `film_last()` after each cell that makes such a control, in the lesson's
own kernel. The page then shows one of the recorded pictures at a time.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from IPython import get_ipython
from IPython.display import display

MIME = "application/x-minibatch-film+json"
SLIDERS = {"Slide": "slider", "Playground": "budget"}  # the attribute with the slider to move
STEPPERS = "EnginePlayer", "EngineRace", "MemoryPlayer", "BlockMap", "KernelStepper"
WINDOWS = [  # traffic, window: what lesson 3 asks its WindowSlider for
    ("bursts, load 0.3", window) for window in (1.0, 0.5, 0.25, 0.0)
]
MADE = re.compile(rf"\bmb\.widgets\.(?:{'|'.join([*SLIDERS, *STEPPERS, 'WindowSlider'])})\(")
CODE = "from minibatch.course.site.slider_film import film_last; film_last()"
FIRST, MORE = 25, 11  # values: the first 25 of a slider, and 11 of the others
MOST, AT_FIRST = 500, 100  # steps: of a longer run, the first 100 and then a selection
FAR = 100_000  # steps
_ID = re.compile(r'(\bid="|url\(#|href="#)([a-z-]+)(\d+)(?=["\)])')


def film_last() -> None:
    """Film the result of the cell before. (Not `_`: it is not updated once a lesson sets it.)"""
    names = get_ipython().user_ns
    film(names["_oh"].get(len(names["_ih"]) - 2))  # the newest input is this one


def film(control: object) -> None:
    """Display the control's pictures for the page."""
    shown, start = frames(control)
    if len(shown) > 1:
        made = {"model_id": control.model_id, "frames": shown, "start": start}
        made["live"] = live(control)
        display({MIME: made}, raw=True)


def live(control: object) -> str:
    """What the link to the playground has behind its #, for a control of a policy that the page
    offers; otherwise ""."""
    kind, settings = type(control).__name__, {}
    if kind == "WindowSlider":
        settings = {"shipped": "Dynamic", "window": 0.25}
    elif kind == "Playground" or control_of(control) == "max_batch_tokens":
        settings = {"shipped": "Budget", "budget": 256}
    elif kind in ("EnginePlayer", "EngineRace"):
        settings = {"shipped": "Continuous", "slots": 4}
    return urlencode(settings)


def control_of(control: object) -> str:
    """The words beside a `Slide`'s slider."""
    return control.slider.description if type(control).__name__ == "Slide" else ""


def frames(control: object) -> tuple[list[tuple[str, str]], int]:
    """(place in words, HTML) of every picture, and the index of the first one to show: the
    control's present place, which does not change, or a later one if that picture is empty."""
    kind = type(control).__name__
    if kind in SLIDERS:
        return _slider_frames(control, getattr(control, SLIDERS[kind]))
    if kind == "WindowSlider":
        places = [window for _, window in WINDOWS]
        start = control.window.value
        return _window_frames(control), places.index(start) if start in places else 0
    return _step_frames(control) if kind in STEPPERS else ([], 0)


def _slider_frames(control: object, slider: object) -> tuple[list[tuple[str, str]], int]:
    start, shown = slider.value, []
    values = _sampled(_values(slider))
    for words, value in values:
        slider.value = value
        shown.append((f"{slider.description} {words}", _still(control)))
    slider.value = start
    return shown, next((i for i, (_, value) in enumerate(values) if value == start), 0)


def _values(slider: object) -> list[tuple[str, int]]:
    """(words, value) of each place of the slider."""
    values = getattr(slider, "options", None) or range(slider.min, slider.max + 1)
    return [value if isinstance(value, tuple) else (f"{value:,}", value) for value in values]


def _window_frames(control: object) -> list[tuple[str, str]]:
    start, shown = (control.name.value, control.window.value), []
    for name, window in WINDOWS:
        if name in control.name.options:
            control.name.value, control.window.value = name, window
            shown.append((f"{name}: window {window:g} s", _still(control)))
    control.name.value, control.window.value = start
    return shown


def _step_frames(control: object) -> tuple[list[tuple[str, str]], int]:
    """A control may name its `place`, as the picture does; otherwise it is the step's number."""
    start, shown = control.position, []
    control.go_to(FAR)
    places = _places(control.position, getattr(control, "turns", ()))
    for place in places:
        control.go_to(place)
        shown.append((getattr(control, "place", f"step {place:,}"), _still(control)))
    control.go_to(start)
    # a run begins in its middle, where there is most to see; a thread block at its first barrier
    unmoved = 0 if type(control).__name__ == "KernelStepper" else len(places) // 2
    return shown, places.index(start) if start and start in places else unmoved


def _places(last: int, turns: Sequence[int]) -> list[int]:
    """All steps of a short run; of a long one the first, `turns` with their neighbours, and some
    others."""
    if last <= MOST:
        return list(range(last + 1))
    near = {turn + aside for turn in turns for aside in (-1, 0, 1)}
    some = _sampled(range(AT_FIRST, last + 1))[FIRST:]
    return sorted({*range(AT_FIRST), *some, *near} & {*range(last + 1)})


def _sampled(values: Sequence) -> list:
    """The first values, and some of the others, including the last."""
    rest = values[FIRST:]
    return [*values[:FIRST], *rest[len(rest) - 1 :: -max(1, len(rest) // MORE)][::-1]]


def _still(control: object) -> str:
    """The control's HTML. Each drawing has new ids; they are renumbered from the picture's first
    one, so that equal parts of two pictures are equal text."""
    numbers: dict[str, int] = {}

    def renamed(found: re.Match) -> str:
        number = numbers.setdefault(found[3], len(numbers))
        return f"{found[1]}{found[2]}{control.model_id[:8]}-{number}"

    return _ID.sub(renamed, control.still)
