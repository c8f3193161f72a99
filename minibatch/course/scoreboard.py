"""The scoreboard of Part I: the same fifty agents under each lesson's policy, on this machine.

guess_last_line()       lesson 00 asks how far Part I will get; the guess is kept
add("one by one", model)  lessons 01 to 03: a button that serves the fifty and adds a line
race(model)             lesson 04: three policies in turns, their lines again, and the guess opened

The lines, the price and the guess are in the learner's progress file, so a line of yesterday is
still there. A lesson that is run without pressing the button goes on without it.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import accumulate
from statistics import median
from typing import TYPE_CHECKING

import ipywidgets

from minibatch import Continuous, Dynamic, Engine, Request, Sequential, Static, measure, workload
from minibatch.core.completion import Completion
from minibatch.course.exercises.progress import Progress
from minibatch.engine.trace import Trace
from minibatch.plots import guesses
from minibatch.plots.figures.finish import finish
from minibatch.plots.figures.same_answers import same_answers
from minibatch.plots.figures.scoreboard import LESSONS, Line, scoreboard
from minibatch.plots.pages import pages
from minibatch.widgets.predict import Predict
from minibatch.widgets.still import WithStill

if TYPE_CHECKING:  # importing transformers takes seconds
    from minibatch.model.load import Model

NUM_AGENTS, SLOTS, WINDOW_S = 50, 8, 0.5
POLICIES = {
    "one by one": Sequential,
    "padded batches": partial(Static, SLOTS),
    "with a window": partial(Dynamic, SLOTS, max_wait=WINDOW_S),
    "continuous": partial(Continuous, SLOTS),
}
RACE = ("one by one", "padded batches", "continuous")
LAST_LINE = "last_line"  # the name of the prediction of lesson 00
DRAW_S = 0.25  # the shortest time between two drawings of the bars
PAGES = pages(__file__)

Lanes = dict[str, tuple[int, float]]  # for each policy: answers that have ended, seconds


def lines() -> dict[str, Line]:
    """The lines so far, by name, in the order of the lessons."""
    kept = Progress().scoreboard.get("lines", {})
    return {name: Line(**kept[name]) for name in LESSONS if name in kept}


def price() -> float:
    """Of an hour of the machine, in euros; the learner's, or 1."""
    return Progress().scoreboard.get("price", 1.0)


def serve(
    model: Model, names: Iterable[str], requests: Sequence[Request], tell: Callable[[Lanes], None]
) -> dict[str, Trace]:
    """Serve the requests under each of these policies, and return the traces.

    The engine that has computed for the shortest time takes the next step: other work of the
    machine disturbs all alike. tell: called with the state of each after a step.
    """
    engines, took = {}, {}
    for name in names:
        engines[name] = Engine(model, POLICIES[name](), clock=measure.clock(model.device))
        took[name] = 0.0
        for request in requests:
            engines[name].add(request)
    while at_work := [name for name, engine in engines.items() if engine.has_work]:
        name = min(at_work, key=took.__getitem__)
        if step := engines[name].step():
            took[name] += step.end_time - step.start_time
        tell({n: (len(e.trace.completions), took[n]) for n, e in engines.items()})
    return {name: engine.trace for name, engine in engines.items()}


def own_seconds(trace: Trace, moments: Iterable[float]) -> list[float]:
    """Moments of the engine's clock, each the end of a step, as seconds of its steps alone: the
    clock goes on while other engines compute."""
    ends = [step.end_time for step in trace.steps]
    so_far = list(accumulate(step.end_time - step.start_time for step in trace.steps))
    return [so_far[bisect_left(ends, moment)] for moment in moments]


def line_of(trace: Trace) -> Line:
    """A finished run as a line of the scoreboard."""
    done = [completion for completion in trace.completions if completion.token_ids]
    firsts = own_seconds(trace, [completion.first_token_time for completion in done])
    num_rows = sum(len(step.rows) for step in trace.steps)
    num_read = sum(step.num_output_tokens for step in trace.steps)
    seconds = sum(step.end_time - step.start_time for step in trace.steps)
    return Line(seconds, median(firsts), max(firsts), num_rows, num_rows - num_read, len(done))


class ScoreboardCard(WithStill):
    """A button that serves the agents under the policies `names`; the scoreboard; the price."""

    def __init__(
        self, model: Model, names: Sequence[str], num_agents: int, opens_guess: bool = False
    ) -> None:
        self.model, self.names, self.num_agents = model, names, num_agents
        self.opens_guess = opens_guess
        words = "Race" if len(names) > 1 else "Serve"
        self.button = ipywidgets.Button(description=f"{words} the {num_agents} agents", icon="flag")
        self.button.layout.width = "16em"
        self.button.on_click(lambda _: self.serve())
        self.price = ipywidgets.BoundedFloatText(price(), min=0, max=1e4, step=0.5)
        self.price.description = "Price of the machine, € per hour:"
        self.price.style.description_width, self.price.layout.width = "12em", "20em"
        self.price.observe(lambda _: self._keep_price(), "value")
        super().__init__([self.button, self.price])
        self.add_class("minibatch-scoreboard")
        self.add_class(f"minibatch-scoreboard-{LESSONS[names[-1]]}")
        self._show()

    def serve(self) -> None:
        """What the button does: half a minute at most for one policy, a minute for three."""
        self.button.disabled = True
        try:
            requests = workload.agents(self.model, n=self.num_agents, prompt_scale=0.1)
            warm_up = Engine(self.model, Continuous(2))
            warm_up.run([Request(requests[0].prompt, max_tokens=2)])  # compiles, once
            traces = serve(self.model, self.names, requests, self._tell_now_and_then())
            new = {name: asdict(line_of(trace)) for name, trace in traces.items()}
            progress = Progress()
            kept = progress.scoreboard.get("lines", {})
            progress.note_scoreboard({"lines": kept | new})
            self._show(self._pictures(traces))
        finally:
            self.button.disabled = False

    def _tell_now_and_then(self) -> Callable[[Lanes], None]:
        drawn = 0.0

        def tell(lanes: Lanes) -> None:
            nonlocal drawn
            if time.perf_counter() - drawn > DRAW_S:
                page = PAGES.get_template("lanes.html")
                self.view.value = page.render(lanes=lanes, num_agents=self.num_agents)
                drawn = time.perf_counter()

        return tell

    def _pictures(self, traces: dict[str, Trace]) -> str:
        """The finish of a race, and the rows of two of its runs; nothing for a single run."""
        if len(traces) == 1:
            return ""
        ends = {
            name: own_seconds(trace, [done.finish_time for done in trace.completions])
            for name, trace in traces.items()
        }
        pair = {name: traces[name] for name in ("padded batches", "continuous")}
        if len({_answers(trace.completions) for trace in traces.values()}) > 1:
            return finish(ends)._repr_html_()  # two tokens all but equally likely: not comparable
        took = tuple(max(ends[name]) for name in pair)
        areas = same_answers(*pair.values(), names=tuple(pair), seconds=took)
        return finish(ends)._repr_html_() + areas._repr_html_()

    def _keep_price(self) -> None:
        Progress().note_scoreboard({"price": self.price.value})
        self._show()

    def _show(self, pictures: str = "") -> None:
        so_far = lines()
        guess = Progress().scoreboard.get(LAST_LINE) if self.opens_guess else None
        opened = guess if self.names[-1] in so_far else None
        board = scoreboard(so_far, self.price.value, guess=opened)
        says = [words for name in self.names if (words := _says(name, so_far))]
        if opened is not None and "one by one" in so_far:
            share = 100 * so_far["continuous"].seconds / so_far["one by one"].seconds
            says.append(f"Your guess in lesson 0 was {guess:.0f} %. It is {share:.0f} %.")
        self.line.value = PAGES.get_template("scoreboard.html").render(says=says)
        self.view.value = pictures + board._repr_html_()


class LastLine(Predict):
    """The prediction of lesson 00, kept in the progress file until lesson 04 opens it."""

    def __init__(self) -> None:
        if (kept := Progress().scoreboard.get(LAST_LINE)) is not None:
            guesses.keep(LAST_LINE, kept)
        question = (
            f"{NUM_AGENTS} agents ask at the same moment. Call the time to serve them one after "
            "another 100 %. How long does the policy of lesson 4 take?"
        )
        super().__init__(LAST_LINE, question, 0, 100, "%")

    def _keep(self) -> None:
        super()._keep()
        Progress().note_scoreboard({LAST_LINE: self.answer})


def guess_last_line() -> LastLine:
    """Ask for the last line of the scoreboard, in percent of the first."""
    return LastLine()


def add(name: str, model: Model, num_agents: int = NUM_AGENTS) -> ScoreboardCard:
    """A card that serves the agents under the policy `name`, one of `POLICIES`, by a button."""
    if name not in POLICIES:
        raise ValueError(f'"{name}" is not a line of the scoreboard; it has {", ".join(POLICIES)}')
    return ScoreboardCard(model, [name], num_agents)


def race(model: Model, num_agents: int = NUM_AGENTS) -> ScoreboardCard:
    """A card that serves the agents under three policies in turns, and opens lesson 00's guess."""
    return ScoreboardCard(model, RACE, num_agents, opens_guess=True)


def as_text() -> str:
    """The lines so far, for a terminal; "" without any."""
    rows = [
        f"{name}: {line.seconds:.1f} s, first word after {line.median_s:.1f} s (median) and "
        f"{line.worst_s:.1f} s (worst), {line.num_padding:,} of {line.num_rows:,} rows that "
        f"nobody reads, € {line.cost(price()):.2f} for 1,000 such requests"
        for name, line in lines().items()
    ]
    return "\n".join(rows)


def _answers(completions: Iterable[Completion]) -> tuple:
    return tuple(sorted((done.request_id, tuple(done.token_ids)) for done in completions))


def _says(name: str, so_far: dict[str, Line]) -> str:
    """What the line `name` adds to the line before it, and why; "" if it is not there yet."""
    if name not in so_far:
        return ""
    before = list(LESSONS)[max(0, LESSONS[name] - 2)] if name != "continuous" else "padded batches"
    times = so_far[before].seconds / so_far[name].seconds if before in so_far else 0.0
    return PAGES.get_template("line_says.html").render(name=name, times=times, line=so_far[name])
