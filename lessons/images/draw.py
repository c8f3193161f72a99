"""Draws the still picture at the head of each lesson, from a run measured here and now.

python lessons/images/draw.py            # all of them
python lessons/images/draw.py 01 04      # these
"""

import itertools
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

import minibatch as mb
from minibatch.plots.colours import FAINT, INK
from minibatch.plots.picture import Picture


def serve(policy: mb.Scheduler, requests: Iterable[mb.Request]) -> mb.Trace:
    """Wayfarer serves the requests."""
    engine = mb.Engine(mb.load_model("wayfarer"), policy)
    engine.run(requests)
    return engine.trace


def start_here() -> Figure:
    """Two who ask, one model: what each of them sees after 39 passes."""
    asked = {
        "Anna": "The client has 5 days for Lisbon. Make an itinerary.",
        "Ben": "Where should Rosa have dinner in Marrakesh?",
    }
    model = mb.load_model("wayfarer")
    engine = mb.Engine(model, mb.Sequential())
    requests = [mb.Request(model.chat(text), request_id=name) for name, text in asked.items()]
    events = list(itertools.islice(engine.stream(requests), 39))
    figure = Picture(figsize=(11, 3.4), facecolor="white")
    axis = figure.add_axes((0, 0, 1, 1), xlim=(0, 11), ylim=(0, 3.4))
    axis.axis("off")
    for left, (name, text) in zip((0.1, 5.55), asked.items(), strict=True):
        said = "".join(event.text for event in events if event.request_id == name)
        shape = FancyBboxPatch((left + 0.1, 0.15), 5.1, 3.05, "round,pad=0.08", facecolor="white")
        shape.set(linewidth=2, edgecolor=INK if said else "#BBBBBB", hatch="" if said else "//")
        axis.add_patch(shape)
        paper = {"facecolor": "white", "edgecolor": "none", "pad": 4}
        for y, words, look in (
            (2.9, name, {"weight": "bold", "fontsize": 16}),
            (2.45, text, {"style": "italic", "fontsize": 13}),
            (2.15, said + " ▌" if said else "", {"fontsize": 14, "linespacing": 1.5}),
            (1.2, "" if said else "waits", {"fontsize": 22, "color": FAINT}),
        ):
            axis.text(left + 0.3, y, words, va="top", bbox=None if said else paper, **look)
    return figure


def one_token_at_a_time() -> Figure:
    """Which words go into each pass of one answer."""
    model = mb.load_model("wayfarer")
    return mb.plots.passes(serve(mb.Sequential(), agents(1)), model.tokenizer)


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
