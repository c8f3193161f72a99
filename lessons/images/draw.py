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
    """The same agents at the same rate, in two ways. When a batch leaves is for the lesson."""
    everyone = mb.workload.agents(mb.PretendModel(), n=24)
    streams = {
        "24 agents, independent of one another": mb.workload.poisson(everyone, 0.5, seed=28),
        "24 agents, in bursts": mb.workload.bursts(everyone, size=6, every=12, within=0.5),
    }
    figure = mb.plots.arrivals(streams)
    for axis, name in zip(figure.axes, streams, strict=True):
        axis.set_title(name, loc="left", fontsize=13)
    question = "When should a batch of eight leave?"
    figure.suptitle(question, x=0.01, ha="left", fontsize=17, fontweight="bold")
    return figure


def continuous_batching() -> Figure:
    """Sixteen agents under two policies. How many steps each takes is for the lesson to find."""
    policies = {"Static(8)": mb.Static(8), "Continuous(8)": mb.Continuous(8)}
    figure = mb.plots.timeline({name: serve(p, agents(16)) for name, p in policies.items()})
    for axis, name in zip(figure.axes, policies, strict=True):
        axis.set_title(name, loc="left", fontsize=15)
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
