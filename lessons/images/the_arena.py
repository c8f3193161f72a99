"""The head picture of lesson 14."""

from matplotlib.figure import Figure

import minibatch as mb


def the_arena() -> Figure:
    """Two answers of 12 tokens: one with a short pause, and one with a long pause."""

    def every(gap: float, start: float, pause: float = 0.0) -> list[float]:
        return [start + gap * i + pause * (i >= 6) for i in range(12)]

    answers = {
        "in time": every(0.04, 0.3, pause=0.7),
        "late": every(0.04, 0.4, pause=1.3),
    }
    figure = mb.plots.token_deadlines(answers, ttft=1.0, tpot=0.1)
    figure.axes[0].set_title("Every token has a deadline", loc="left", fontsize=17)
    return figure
