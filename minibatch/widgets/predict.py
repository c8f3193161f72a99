"""A question before the run: give your prediction, then look. The next figure draws it.

The guess is kept by name (`plots/guesses.py`) until the kernel ends, and may be changed at any
time. An answer is optional: a notebook that is run from top to bottom skips the question.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import ipywidgets

from ..plots import guesses
from .still import WithStill
from .widget_templates import PAGES

STEPS = 100  # about so many from end to end of a slider, unless its numbers are integers
CLASS = "minibatch-question"
NOT_MOVED = "minibatch-unsaid"  # no number is shown yet: it would suggest an answer


class Question(WithStill):
    """Controls under a question, a button that keeps the guess, and a line with the kept guess.

    sliders: a screen reader's names for them; Jupyter's sliders have no names.
    """

    asks: str  # what the line says before a guess is kept

    def __init__(
        self, name: str, question: str, controls: list[ipywidgets.Widget], sliders: Sequence[str]
    ) -> None:
        self.name, self.question = name, question
        self.button = ipywidgets.Button(description="This is my guess", icon="check")
        self.button.on_click(lambda _: self._keep())
        super().__init__([*controls, self.button])
        page = PAGES.get_template("question.html")
        asked = page.render(question=question, sliders=sliders, classname=CLASS, unsaid=NOT_MOVED)
        self.children = [ipywidgets.HTML(asked), *self.children]
        self.add_class(CLASS)
        self._show_kept()

    @property
    def answer(self) -> float | guesses.Curve:
        """The number or the curve that the controls have now."""
        raise NotImplementedError

    @property
    def still(self) -> str:
        """The question, and the kept guess, as HTML."""
        page = PAGES.get_template("question.html")
        return page.render(question=self.question, sliders=()) + self.view.value

    def _keep(self) -> None:
        guesses.keep(self.name, self.answer)
        self._show_kept()

    def _show_kept(self) -> None:
        kept = guesses.guess(self.name)
        words = "" if kept is None else self._words(kept)
        self.view.value = PAGES.get_template("said.html").render(words=words, asks=self.asks)

    def _words(self, kept: float | guesses.Curve) -> str:
        return "Your curve is kept."


class Predict(Question):
    """A slider and a field for a number, for mouse and keyboard.

    It begins between two steps near the middle, hollow and without a number, so that each number,
    both ends too, can be the first choice; half steps keep it there. The button works only after
    the slider was moved: otherwise a click would keep a number that the learner did not choose.
    """

    def __init__(self, name: str, question: str, low: float, high: float, unit: str = "") -> None:
        self.unit = unit
        kept = guesses.guess(name)
        is_number = kept is not None and not isinstance(kept, list)
        ends = f"{guesses.written(low)} to {guesses.written(high)} {unit}".rstrip()
        self.asks = f"Move the slider to your guess: {ends}."
        self.is_whole = isinstance(low, int) and isinstance(high, int)
        start = kept if is_number else None
        self.slider, self.number = _slider_and_number(low, high, start, "your guess")
        self.slider.layout.width = "24em"
        self.number.layout.width = "12em"
        self.unit_label = ipywidgets.Label(unit_of(self.answer, unit) if is_number else unit)
        controls = [self.slider, self.number, self.unit_label]
        super().__init__(name, question, controls, [question])
        self.step, self.start = self.slider.step, self.slider.value
        if not is_number:
            self.button.disabled = True
            self.add_class(NOT_MOVED)
            self.slider.step = self.number.step = self.step / 2
        self.slider.observe(self._moved, "value")

    def _moved(self, _: object) -> None:
        if self.button.disabled:  # the first move: from now on whole steps
            if abs(self.slider.value - self.start) < self.step / 4:
                return  # the browser rounds 6.050000000000001 to 6.05
            self.button.disabled = False
            self.remove_class(NOT_MOVED)
            low = self.slider.min
            self.slider.value = low + round((self.slider.value - low) / self.step) * self.step
            self.slider.step = self.number.step = self.step
        self.unit_label.value = unit_of(self.answer, self.unit)

    @property
    def answer(self) -> float:
        """The position of the slider; an integer if both ends are."""
        return round(self.slider.value) if self.is_whole else self.slider.value

    def _words(self, kept: float | guesses.Curve) -> str:
        return f"Your guess: {guesses.written(kept)} {unit_of(kept, self.unit)}".rstrip() + "."


class PredictCurve(Question):
    """A slider and a field for each point of a curve, and a picture of the curve. The sliders are
    hollow, and the button does not work, until one slider was moved."""

    asks = "Move the sliders until the curve is your guess."

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
            slider.observe(self._moved, "value")
            number.layout.width = f"{wide + 3.2}em"
            number.style.description_width = f"{wide}em"
            column = ipywidgets.Layout(align_items="center")
            columns.append(ipywidgets.VBox([slider, number], layout=column))
        self.picture = ipywidgets.HTML()
        self._draw()
        names = [f"{y_label} at {guesses.written(x)} {x_label}" for x in xs]
        super().__init__(name, question, [ipywidgets.HBox(columns), self.picture], names)
        if not known:
            self.button.disabled = True
            self.add_class(NOT_MOVED)

    @property
    def answer(self) -> guesses.Curve:
        """The positions of the sliders, as (x, y)."""
        return [(x, slider.value) for x, slider in zip(self.xs, self.sliders, strict=True)]

    def _moved(self, _: object) -> None:
        self.button.disabled = False
        self.remove_class(NOT_MOVED)
        self._draw()

    def _across(self) -> dict[float, float]:
        """The place of each x on the axis, from 0 (left) to 1 (right)."""
        left, right = min(self.xs), max(self.xs)
        scale = math.log if self.is_log else float
        width = scale(right) - scale(left) or 1
        return {x: (scale(x) - scale(left)) / width for x in self.xs}

    def _draw(self) -> None:
        self.picture.value = PAGES.get_template("curve.html").render(
            points=self.answer,
            across=self._across(),
            low=self.low,
            high=self.high,
            labels=self.labels,
            written=guesses.written,
        )


def _slider_and_number(
    low: float, high: float, start: float | None, description: str
) -> tuple[ipywidgets.FloatSlider, ipywidgets.BoundedFloatText]:
    """Two controls of one number from low to high; the browser links them, without the kernel.
    start: None is between two steps, near the middle: a value that no move gives."""
    step = 1 if isinstance(low, int) and isinstance(high, int) else _round_step(low, high)
    if start is None:
        start = low + ((high - low) / step // 2 + 0.5) * step
    start = min(max(low, start), high)
    kinds = ipywidgets.FloatSlider, ipywidgets.BoundedFloatText
    slider, number = (kind(value=start, min=low, max=high, step=step) for kind in kinds)
    slider.readout = False
    number.description = description
    ipywidgets.jslink((slider, "value"), (number, "value"))
    return slider, number


def _round_step(low: float, high: float) -> float:
    """1, 2 or 5 times a power of ten, near a hundredth of the range: the nearest such step that
    reaches both ends, or else the nearest."""
    hundredth = (high - low) / STEPS
    power = 10.0 ** math.floor(math.log10(hundredth))
    steps = [power * digit for digit in (1, 2, 5, 10)]
    steps.sort(key=lambda step: abs(math.log(step / hundredth)))

    def reaches(step: float) -> bool:
        return all(math.isclose(end / step, round(end / step)) for end in (low, high))

    return next(filter(reaches, steps), steps[0])


def unit_of(number: float, unit: str) -> str:
    """The unit, such as "rows" or "agents a second", as it is written after that number: 1 row."""
    first, *others = unit.split(" ")
    one = first[:-1] if len(first) > len("ms") and first.endswith("s") else first
    return " ".join([one, *others]) if number == 1 else unit


def predict(name: str, question: str, low: float, high: float, unit: str = "") -> Predict:
    """Ask `question`; the answer is a number from `low` to `high`, in `unit`, kept under `name`.

    Integers if both ends are. Figures take the name: `guess="steps"` draws the guess.
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

    x_label, y_label: what is on the axes, with units. log: use a
    logarithmic x axis, for x above 0. Half a dozen points are enough for a curve.
    Figures draw it with `minibatch.plots.guesses.mark`.
    """
    return PredictCurve(name, question, xs, low, high, x_label, y_label, log)
