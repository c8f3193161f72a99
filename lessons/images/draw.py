"""Draws the still picture at the head of each lesson, from a run measured here and now, and the one
at the head of the README.

python lessons/images/draw.py            # all of them
python lessons/images/draw.py 01 04      # these
"""

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from a_server import a_server
from four_lengths import four_lengths
from matplotlib.figure import Figure
from more_than_one_engine import more_than_one_engine
from start_here import start_here
from the_arena import the_arena
from two_changes import two_changes
from two_load_generators import two_load_generators
from where_a_token_leaves import where_a_token_leaves

import minibatch as mb
from minibatch import kernel_lab as lab
from minibatch import measure
from minibatch.attention.cuda.simple import paged_attention_simple
from minibatch.schedulers import victims


def serve(policy: mb.Scheduler, requests: Iterable[mb.Request]) -> mb.Trace:
    """Wayfarer serves the requests."""
    engine = mb.Engine(mb.load_model("wayfarer"), policy)
    engine.run(requests)
    return engine.trace


def speculative_decoding() -> Figure:
    """Junior guesses, Wayfarer verifies: three steps of G's answer."""
    model = mb.load_model("wayfarer")
    draft = mb.DraftModel(mb.load_model("wayfarer-junior"), num_guesses=4)
    engine = mb.Engine(model, mb.Continuous(8), speculation=draft)
    engine.run(mb.workload.running_example(model, prompt_scale=0.1))
    figure = mb.plots.drafts(engine.trace, model.tokenizer.decode, "G", first=3, most=3)
    (more,) = (text for text in figure.axes[0].texts if text.get_text().startswith("…"))
    more.remove()  # of how many steps, the lesson asks
    return titled(figure, "A small model guesses, a large one verifies")


def one_token_at_a_time() -> Figure:
    """Which words go into each pass of one answer."""
    model = mb.load_model("wayfarer")
    return mb.plots.passes(serve(mb.Sequential(), agents(1)), model.tokenizer)


def same_answers() -> Figure:
    """The picture to share: fifty agents under two policies."""
    return mb.plots.same_answers(
        serve(mb.Static(8), agents(50)), serve(mb.Continuous(8), agents(50))
    )


def dynamic_batching() -> Figure:
    """The same agents at the same rate, in two ways. When a batch starts is for the lesson."""
    everyone = mb.workload.agents(mb.PretendModel(), n=24)
    streams = {
        "24 agents, independent of one another": mb.workload.poisson(everyone, 0.5, seed=28),
        "24 agents, in bursts": mb.workload.bursts(everyone, size=6, every=12, within=0.5),
    }
    figure = mb.plots.arrivals(streams)
    for axis, name in zip(figure.axes, streams, strict=True):
        axis.set_title(name, loc="left", fontsize=13)
        axis.tick_params(labelbottom=True)
    figure.get_layout_engine().set(hspace=0.12)  # keeps a title off the axis above it
    figure.draw_without_rendering()
    question, x = "When should a batch of eight start?", figure.axes[0].get_position().x0
    figure.suptitle(question, x=x, ha="left", fontsize=17, fontweight="bold")
    return figure


def continuous_batching() -> Figure:
    """Twelve agents begin, under two policies. How it ends is for the lesson to find."""
    titles = {
        mb.Static(8): "Static: A has ended, and its slot is still taken",
        mb.Continuous(8): "Continuous: A has ended, and A2 has its slot",
    }
    traces = {}
    for policy, title in titles.items():
        engine = mb.Engine(mb.load_model("wayfarer"), policy)
        for request in agents(12):
            engine.add(request)
        for _ in range(75):
            engine.step()
        traces[title] = engine.trace
    figure = mb.plots.timeline(traces, highlight=["A", "A2"])
    figure.set_size_inches(11, 5.8)
    for axis, title in zip(figure.axes, traces, strict=True):
        axis.set_title(title, loc="left", fontsize=16)
        axis.set_xticks(range(0, 76, 25))
    figure.axes[-1].set_xlabel("the first 75 steps (the runs go on)")
    return figure


def paged_attention() -> Figure:
    """Three rows of a batch walk through their block tables; the first KV block is everybody's."""
    case = lab.paged_case([14, 21, 9], heads=1, kv_heads=1, block_size=8, shared_blocks=1)
    figure = mb.plots.block_table_walk(case.run(paged_attention_simple))
    title = "One pool: rows A, B and C read their slots in the order of the numbers"
    figure.axes[0].set_title(title, loc="left", fontsize=17)
    return figure


def paged_kv_blocks() -> Figure:
    """Where the tokens of a conversation are kept, while others come and go: as in the lesson."""
    model = mb.load_model("wayfarer")
    engine = mb.Engine(model, mb.Continuous(3), num_blocks=24, block_size=4)
    asked = {
        "A": "Where should Rosa have dinner in Marrakesh?",
        "B": "Hotels in Lisbon?",
        "C": "Visa for Cairo?",
    }
    for name, question in asked.items():
        engine.add(mb.Request(model.chat(question), request_id=name, max_tokens=40))
    for _ in range(9):
        engine.step()
    figure = mb.plots.table_and_pool(engine, "A")
    question = "Where are the tokens of a conversation kept?"
    figure.axes[0].set_title(question, loc="left", fontsize=17, pad=14)
    return figure


def prefix_caching() -> Figure:
    """Eight prompts one after another: what each finds, from an empty pool."""
    model = mb.load_model("wayfarer")
    engine = mb.Engine(model, mb.Sequential(), num_blocks=300, prefix_caching=True)
    engine.run([replace(agent, max_tokens=1) for agent in mb.workload.running_example(model)])
    figure = mb.plots.prefix_tree(engine.trace)
    axis = figure.axes[0]
    axis.set_title(
        "Eight prompts, one manual: most tokens are in the cache", loc="left", fontsize=16
    )
    axis.set_xlim(0, axis.get_xlim()[1] / 1.33)  # no words at the right, and no numbers:
    axis.set_xticks([])  # how many, the lesson asks
    axis.xaxis.label.set_x(0.5)
    for words in list(axis.texts):
        if words.get_text().endswith(("computed", "found")):
            verb = words.get_text().rpartition(" ")[2]
            words.set_text("found in the cache" if verb == "found" else verb)
        else:
            words.remove()
    return figure


def chunked_prefill() -> Figure:
    """Seven answers stream while a long prompt joins, in one step and in chunks."""
    names = ("C", "D", "E", "F", "H", "D2", "E2")
    seven = [replace(r, max_tokens=60) for r in agents(16) if r.request_id in names]
    model = mb.load_model("wayfarer")
    late = replace(mb.workload.running_example(model)[-1], max_tokens=10, request_id="L")
    traces = {}
    for title, policy in {
        "once unseen": mb.PrefillFirst(8),
        "prompts first": mb.PrefillFirst(8),
        "a budget of 256 tokens a step": mb.Budget(8, 256),
    }.items():
        engine = mb.Engine(model, policy, clock=measure.clock(model.device))
        for request in seven:
            engine.add(request)
        while engine.has_work:
            if engine.trace.num_steps == 20:
                engine.add(late)
            engine.step()
        traces[title] = engine.trace
    del traces["once unseen"]
    figure = titled(mb.plots.seismograph(traces, "L"), *traces)
    for axis in figure.axes:
        axis.set_xticks([])
    figure.axes[-1].set_xlabel("time")
    return figure


def out_of_memory() -> Figure:
    """The lesson's five requests in a small pool, and two rules that choose which to preempt."""
    shapes = {"A": (60, 70), "B": (90, 40), "C": (20, 60), "D": (50, 80), "E": (40, 50)}
    traces = {}
    for title, victim in {
        "newest": victims.newest,
        "most computed": victims.most_computed,
    }.items():
        engine = mb.Engine(mb.PretendModel(), mb.Budget(8, 24, victim=victim), num_blocks=22)
        engine.run(
            mb.Request([0] * prompt, max_tokens=output, request_id=name)
            for name, (prompt, output) in shapes.items()
        )
        traces[title] = engine.trace
    return titled(mb.plots.thrown_away(traces), *(f"Preempted: the {name}" for name in traces))


def titled(figure: Figure, *titles: str) -> Figure:
    """With titles that leave to the lesson what it asks for."""
    for axis, title in zip(figure.axes, titles, strict=False):
        axis.set_title(title, loc="left", fontsize=15)
    return figure


def agents(n: int) -> list[mb.Request]:
    """The running example with short prompts."""
    return mb.workload.agents(mb.load_model("wayfarer"), n, prompt_scale=0.1)


PICTURES: dict[str, Callable[[], Figure]] = {
    "00": start_here,
    "01": one_token_at_a_time,
    "02": four_lengths,
    "02_two_changes": two_changes,
    "03": dynamic_batching,
    "04": continuous_batching,
    "06": paged_attention,
    "05": paged_kv_blocks,
    "07": prefix_caching,
    "08": chunked_prefill,
    "09": out_of_memory,
    "10": speculative_decoding,
    "11": two_load_generators,
    "12": a_server,
    "13": more_than_one_engine,
    "13_first_token": where_a_token_leaves,
    "14": the_arena,
    "same_answers": same_answers,
}
SHARED = ("same_answers",)  # as PNG too: not every place that shows a link shows an SVG

if __name__ == "__main__":
    for number in sys.argv[1:] or PICTURES:
        picture = PICTURES[number]()
        path = Path(__file__).with_name(f"{number}.svg")
        path.write_text(picture.to_svg(), encoding="utf-8")
        if number in SHARED:
            picture.savefig(path.with_suffix(".png"), dpi=120)
