"""Draws the still picture at the head of each lesson, from a run measured here and now.

python lessons/images/draw.py            # all of them
python lessons/images/draw.py 01 04      # these
"""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from matplotlib.figure import Figure

import minibatch as mb


def serve(policy: mb.Scheduler, requests: Iterable[mb.Request]) -> mb.Trace:
    """Wayfarer serves the requests."""
    engine = mb.Engine(mb.load_model("wayfarer"), policy)
    engine.run(requests)
    return engine.trace


def start_here() -> Figure:
    """Eight answers in their slots."""
    return mb.plots.timeline(serve(mb.Continuous(8), agents(8)))


def one_token_at_a_time() -> Figure:
    """What the next token costs, with and without a cache."""
    model = mb.load_model("wayfarer")
    return mb.plots.token_costs(mb.measure.token_costs(model, (16, 256, 512, 768, 1024, 1536)))


def static_batching() -> Figure:
    """One batch of eight, to the end. Its share of padding is for the lesson to find."""
    figure = mb.plots.staircase(serve(mb.Static(8), agents(8)))
    figure.axes[0].set_title(
        "Eight answers in one batch: who reads all these rows?", loc="left", fontsize=15
    )
    return figure


def dynamic_batching() -> Figure:
    """Windows on quiet and on busy traffic; planned, no model in it."""
    return mb.plots.window_tradeoff(
        {
            f"{rate:g} requests a second": {
                window: planned(mb.Dynamic(8, window), rate).summary()
                for window in (0, 0.1, 0.25, 0.5, 1, 1.5, 2, 3)
            }
            for rate in (0.5, 4)
        }
    )


def planned(policy: mb.Scheduler, rate: float) -> mb.Trace:
    """Sixty-four short answers, arriving at random, steps of 25 ms."""
    lengths = [10, 20, 30, 35, 40, 45, 60, 80]
    requests = [mb.Request([0], max_tokens=lengths[i * 5 % 8]) for i in range(64)]
    clock = mb.VirtualClock(0.025)
    engine = mb.Engine(mb.PretendModel(), policy, clock=clock)
    engine.run(mb.workload.poisson(requests, rate))
    return engine.trace


def continuous_batching() -> Figure:
    """Twelve agents begin, under two policies. How it ends is for the lesson to find."""
    titles = {
        mb.Static(8): "Static: A has ended, and her slot is held",
        mb.Continuous(8): "Continuous: A has ended, and A2 has her slot",
    }
    traces = {}
    for policy, title in titles.items():
        engine = mb.Engine(mb.load_model("wayfarer"), policy)
        for request in agents(12):
            engine.add(request)
        for _ in range(75):
            engine.step()
        traces[title] = engine.trace
    figure = mb.plots.timeline(traces, highlight=["A2", "H"])
    figure.set_size_inches(11, 4.1)
    for axis, title in zip(figure.axes, traces, strict=True):
        axis.set_title(title, loc="left", fontsize=15)
        axis.set_xticklabels([])
    return figure


def agents(n: int) -> list[mb.Request]:
    """The running example with short prompts."""
    return mb.workload.agents(mb.load_model("wayfarer"), n, prompt_scale=0.1)


PICTURES: dict[str, Callable[[], Figure]] = {
    "00": start_here,
    "01": one_token_at_a_time,
    "02": static_batching,
    "03": dynamic_batching,
    "04": continuous_batching,
}

if __name__ == "__main__":
    for number in sys.argv[1:] or PICTURES:
        svg = PICTURES[number]().to_svg()
        Path(__file__).with_name(f"{number}.svg").write_text(svg, encoding="utf-8")
