"""The head picture of lesson 14."""

from matplotlib.figure import Figure

import minibatch as mb


def the_arena() -> Figure:
    """Four answers of 12 tokens: one with a short pause, one with a long one, one that begins late,
    and one that is never ended. What each is worth is for the lesson."""

    def every(gap: float, start: float, pause: float = 0.0) -> list[float]:
        return [start + gap * i + pause * (i >= 6) for i in range(12)]

    answers = {
        "A": every(0.04, 0.3, pause=0.7),
        "B": every(0.04, 0.3, pause=1.4),
        "C": every(0.03, 1.3),
        "E": every(0.04, 0.5)[:4],
    }
    figure = mb.plots.token_deadlines(answers, ttft=1.0, tpot=0.1)
    figure.axes[0].set_title("Every token has a deadline", loc="left", fontsize=15)
    return figure
