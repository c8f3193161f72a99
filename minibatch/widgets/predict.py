"""A question before the run: say what you expect, then look. The next figure draws what you said.

The guess is kept by name (`plots/guesses.py`) until the kernel ends. Nobody has to answer: a
notebook that is run from top to bottom skips the question.
"""

from __future__ import annotations

from html import escape

import ipywidgets

from ..plots import guesses
from .still import accessible


class Predict(ipywidgets.VBox):
    """A slider with its number, and one button that keeps the guess under `name`."""

    def __init__(self, name: str, question: str, low: float, high: float, unit: str = "") -> None:
        self.name, self.unit = name, unit
        whole = isinstance(low, int) and isinstance(high, int)
        kind = ipywidgets.IntSlider if whole else ipywidgets.FloatSlider
        step = 1 if whole else (high - low) / 100
        kept = guesses.guess(name)
        start = kept if isinstance(kept, int | float) else (low + high) / 2
        self.slider = kind(
            value=int(start) if whole else start,
            min=low,
            max=high,
            step=step,
            description=unit or "guess",
            layout=ipywidgets.Layout(width="32em"),
        )
        self.button = ipywidgets.Button(description="That is my guess", icon="check")
        self.button.on_click(lambda _: self._keep())
        self.status = ipywidgets.HTML()
        asked = ipywidgets.HTML(f"<p><b>Predict.</b> {escape(question)}</p>")
        answer = ipywidgets.HBox([self.slider, self.button])
        super().__init__([asked, answer, accessible(), self.status])

    def _keep(self) -> None:
        guesses.keep(self.name, self.slider.value)
        kept = f"You say {self.slider.value:,.4g} {escape(self.unit)}. Run on and see."
        self.status.value = f'<p role="status" aria-live="polite">{kept}</p>'


def predict(name: str, question: str, low: float, high: float, unit: str = "") -> Predict:
    """Ask `question`; the answer is a number from `low` to `high`, in `unit`, kept under `name`.

    Whole numbers if both ends are. Figures take the name: `guess="steps"` draws what was said.
    """
    return Predict(name, question, low, high, unit)
