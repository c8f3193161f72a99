"""A question before the run: say what you expect, then look. The next figure draws what you said.

The guess is kept by name (`plots/guesses.py`) until the kernel ends, and may be changed at any
time. Nobody has to answer: a notebook that is run from top to bottom skips the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import ipywidgets

from ..plots import guesses
from .still import WithStill
from .widget_templates import PAGES

STEPS = 100  # about so many from end to end of a slider, unless its numbers are whole ones
CLASS = "minibatch-question"
UNSAID = "minibatch-unsaid"  # its number is not shown: it would suggest an answer


class Question(WithStill):
    """Controls under a question, a button that keeps the guess, and a line that says what is kept.

    sliders: what a screen reader calls each of them; Jupyter's have no names of their own.
    """

    asks = "Move the slider to your guess."

    def __init__(
        self, name: str, question: str, controls: list[ipywidgets.Widget], sliders: Sequence[str]
    ) -> None:
        self.name, self.question = name, question
        self.button = ipywidgets.Button(description="That is my guess", icon="check")
        self.button.on_click(lambda _: self._keep())
        super().__init__([*controls, self.button])
        page = PAGES.get_template("question.html")
        asked = page.render(question=question, sliders=sliders, classname=CLASS, unsaid=UNSAID)
        self.children = [ipywidgets.HTML(asked), *self.children]
        self.add_class(CLASS)
        self._tell()

    @property
    def said(self) -> float | guesses.Curve:
        """What the controls say now."""
        raise NotImplementedError

    @property
    def still(self) -> str:
        """The question, and what was said to it."""
        page = PAGES.get_template("question.html")
        return page.render(question=self.question, sliders=()) + self.view.value

    def _keep(self) -> None:
        guesses.keep(self.name, self.said)
        self._tell()

    def _tell(self) -> None:
        kept = guesses.guess(self.name)
        words = "" if kept is None else self._words(kept)
        self.view.value = PAGES.get_template("said.html").render(words=words, asks=self.asks)

    def _words(self, kept: float | guesses.Curve) -> str:
        return "Your curve is kept."


class Predict(Question):
    """A slider and a field for a number, for mouse and keyboard.

    It begins at its upper end, and counts once it was moved: a middle would suggest an answer, and
    what is pressed unread would be kept. Until then its number is not shown.
    """

    def __init__(self, name: str, question: str, low: float, high: float, unit: str = "") -> None:
        self.unit = unit
        kept = guesses.guess(name)
        was_said = kept is not None and not isinstance(kept, list)
        start = kept if was_said else high
        self.slider, self.number = _slider_and_number(low, high, start, "your guess")
        self.slider.layout.width = "24em"
        self.number.layout.width = "12em"
        self.unit_label = ipywidgets.Label(unit_of(start, unit))
        controls = [self.slider, self.number, self.unit_label]
        super().__init__(name, question, controls, [question])
        if not was_said:
            self.button.disabled = True
            self.add_class(UNSAID)
        self.slider.observe(self._moved, "value")

    def _moved(self, _: object) -> None:
        self.button.disabled = False
        self.remove_class(UNSAID)
        self.unit_label.value = unit_of(self.said, self.unit)

    @property
    def said(self) -> float:
        """Where the slider stands."""
        return self.slider.value

    def _words(self, kept: float | guesses.Curve) -> str:
        return f"You said {guesses.written(kept)} {unit_of(kept, self.unit)}".rstrip() + "."


class PredictCurve(Question):
    """A slider and a field for each point of a curve, and the curve as they draw it."""

    asks = "Move the sliders until the curve is yours."

    def __init__(
        self,
        name: str,
        question: str,
        xs: Sequence[float],
        low: float,
        high: float,
        x_label: str = "",
        y_label: str = "",
        log: bool = False,
    ) -> None:
        self.xs, self.low, self.high, self.is_log = list(xs), low, high, log
        self.labels = x_label, y_label
        kept = guesses.guess(name)
        known = dict(kept) if isinstance(kept, list) else {}
        pairs = [_slider_and_number(low, high, known.get(x, low), guesses.written(x)) for x in xs]
        self.sliders, self.numbers = zip(*pairs, strict=True)
        columns, wide = [], max(2.8, *(0.7 * len(guesses.written(x)) for x in xs))
        for slider, number in pairs:
            slider.orientation = "vertical"
            slider.layout.height = "12em"
            slider.observe(lambda _: self._draw(), "value")
            number.layout.width = f"{wide + 3.2}em"
            number.style.description_width = f"{wide}em"
            column = ipywidgets.Layout(align_items="center")
            columns.append(ipywidgets.VBox([slider, number], layout=column))
        self.picture = ipywidgets.HTML()
        self._draw()
        names = [f"{y_label} at {guesses.written(x)} {x_label}" for x in xs]
        super().__init__(name, question, [ipywidgets.HBox(columns), self.picture], names)

    @property
    def said(self) -> guesses.Curve:
        """Where the sliders stand, as (x, y)."""
        return [(x, slider.value) for x, slider in zip(self.xs, self.sliders, strict=True)]

    def _across(self) -> dict[float, float]:
        """Where each x stands, from 0 at the left to 1 at the right."""
        left, right = min(self.xs), max(self.xs)
        scale = math.log if self.is_log else float
        width = scale(right) - scale(left) or 1
        return {x: (scale(x) - scale(left)) / width for x in self.xs}

    def _draw(self) -> None:
        self.picture.value = PAGES.get_template("curve.html").render(
            points=self.said,
            across=self._across(),
            low=self.low,
            high=self.high,
            labels=self.labels,
            written=guesses.written,
        )


def _slider_and_number(
    low: float, high: float, start: float, description: str
) -> tuple[ipywidgets.Widget, ipywidgets.Widget]:
    """Two controls of one number from low to high, which move together, in the browser alone."""
    whole = isinstance(low, int) and isinstance(high, int)
    start = min(max(low, start), high)
    if whole:
        kinds, start, step = (ipywidgets.IntSlider, ipywidgets.BoundedIntText), round(start), 1
    else:
        kinds = ipywidgets.FloatSlider, ipywidgets.BoundedFloatText
        step = _round_step(low, high)
    slider, number = (kind(value=start, min=low, max=high, step=step) for kind in kinds)
    slider.readout = False
    number.description = description
    ipywidgets.jslink((slider, "value"), (number, "value"))
    return slider, number


def _round_step(low: float, high: float) -> float:
    """1, 2 or 5 times a power of ten: of those next to a hundredth of the range the nearest that
    reaches both ends, or the nearest."""
    hundredth = (high - low) / STEPS
    power = 10.0 ** math.floor(math.log10(hundredth))
    steps = [power * digit for digit in (1, 2, 5, 10)]
    steps.sort(key=lambda step: abs(math.log(step / hundredth)))

    def reaches(step: float) -> bool:
        return all(math.isclose(end / step, round(end / step)) for end in (low, high))

    return next(filter(reaches, steps), steps[0])


def unit_of(number: float, unit: str) -> str:
    """The unit, such as "rows" or "agents a second", as it is said of that number: 1 row."""
    first, *others = unit.split(" ")
    one = first[:-1] if len(first) > len("ms") and first.endswith("s") else first
    return " ".join([one, *others]) if number == 1 else unit


def predict(name: str, question: str, low: float, high: float, unit: str = "") -> Predict:
    """Ask `question`; the answer is a number from `low` to `high`, in `unit`, kept under `name`.

    Whole numbers if both ends are. Figures take the name: `guess="steps"` draws what was said.
    """
    return Predict(name, question, low, high, unit)


def predict_curve(
    name: str,
    question: str,
    xs: Sequence[float],
    low: float,
    high: float,
    x_label: str = "",
    y_label: str = "",
    log: bool = False,
) -> PredictCurve:
    """Ask for a curve: at each of `xs` a number from `low` to `high`, kept as (x, y) points.

    x_label, y_label: what is on the axes, with units. log: as far to the right for each factor of
    x, which is then above 0. Half a dozen points are enough for a curve.
    Figures draw it with `minibatch.plots.guesses.mark`.
    """
    return PredictCurve(name, question, xs, low, high, x_label, y_label, log)
