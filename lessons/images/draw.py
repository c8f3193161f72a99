"""Draws the still picture at the head of each lesson, from a run measured here and now.

python lessons/images/draw.py
"""

from pathlib import Path

import minibatch as mb


def continuous_batching() -> None:
    """Lesson 4: sixteen agents under two policies."""
    model = mb.load_model()
    traces = {}
    for policy in (mb.Static(8), mb.Continuous(8)):
        engine = mb.Engine(model, policy)
        engine.run(mb.workload.agents(model, n=16, prompt_scale=0.1))
        traces[type(policy).__name__] = engine.trace
    figure = mb.plots.timeline(traces)
    Path(__file__).with_name("04.svg").write_text(figure.to_svg(), encoding="utf-8")


if __name__ == "__main__":
    continuous_batching()
