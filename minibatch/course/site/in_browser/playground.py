"""One policy or two on the same requests: a report of the whole run, and every step of it."""

from __future__ import annotations

from dataclasses import dataclass, field

from minibatch.core.clock import VirtualClock
from minibatch.course.site.in_browser.own_code import FILE, OTHER, load, policy_in
from minibatch.course.site.in_browser.recorded import Recording
from minibatch.engine.engine import Engine
from minibatch.plots import svg
from minibatch.plots.colours import own_colours
from minibatch.schedulers import Scheduler
from minibatch.widgets import playground_panels as panels
from minibatch.widgets.frame import SHORTEST_STRIP, event, event_html, frame_html
from minibatch.widgets.lanes import lane, lanes_html
from minibatch.widgets.policies import new, title
from minibatch.widgets.pool_film import PoolFilm
from minibatch.widgets.pool_grid import NO_REQUEST, PoolGrid
from minibatch.widgets.run_film import Film
from minibatch.widgets.widget_templates import PAGES

BLOCK_SIZE = 16
MOST_STEPS = 20_000  # of a run; a policy that needs more is stopped


@dataclass(frozen=True)
class Asked:
    """What the reader chose. policy: the text of a policy; against: of another one, or "". slots,
    window, budget: settings for both, where they take them; 0 is none. num_blocks: of the pool; 0
    is enough for all requests. own: the reader's list, for `own_list`; "" is the recording."""

    policy: str
    against: str = ""
    slots: int = 8
    window: float = 0.25
    budget: int = 0
    num_blocks: int = 0
    own: str = ""


@dataclass
class Run:
    """An engine under one policy, filmed."""

    name: str
    film: Film
    pool_film: PoolFilm
    error: str = ""


@dataclass
class Playground:
    """The runs of what was asked; each ends before the next begins."""

    asked: Asked
    recording: Recording
    runs: list[Run] = field(default_factory=list)

    def __post_init__(self) -> None:
        for file, text in {FILE: self.asked.policy, OTHER: self.asked.against}.items():
            if text.strip():
                self.runs.append(self._run(policy_in(load(text, file))))

    def _run(self, policy: type[Scheduler]) -> Run:
        asked = self.asked
        known = {"max_batch_size": asked.slots, "max_wait": asked.window}
        if asked.budget:
            known["max_batch_tokens"] = asked.budget
        scheduler = new(policy, known)
        name = title(scheduler)
        if name in (run.name for run in self.runs):
            name += " again"
        engine = Engine(
            self.recording.model(),
            scheduler,
            num_blocks=asked.num_blocks or self.enough_blocks(),
            block_size=BLOCK_SIZE,
            clock=VirtualClock(self.recording.step_time),
        )
        pool_film = PoolFilm(engine)
        run = Run(name, Film(engine, self.recording.as_requests(), watch_plan=True), pool_film)
        _to_the_end(run)
        return run

    def enough_blocks(self) -> int:
        """A pool in which all requests have room at once, with their longest answers."""
        return sum(-(-(r.prompt + r.max_tokens) // BLOCK_SIZE) for r in self.recording.requests)

    @property
    def last(self) -> int:
        """The number of the last frame of the longest run."""
        return max(run.film.last for run in self.runs)

    def report(self) -> dict[str, object]:
        """What the page shows of the whole run."""
        traces = {run.name: run.film.trace for run in self.runs if run.film.trace.completions}
        end = max((trace.steps[-1].end_time for trace in traces.values()), default=0)
        pool = self.asked.num_blocks or self.enough_blocks(), BLOCK_SIZE
        endless = not self.asked.num_blocks
        summaries = {
            name: panels.summary(trace, pool[0], endless) for name, trace in traces.items()
        }
        shown = [
            (*panels.panel(name, trace, end), panels.memory(trace, end, *pool, endless))
            for name, trace in traces.items()
        ]
        recorded = all(map(any, (r.answer for r in self.recording.requests)))
        html = PAGES.get_template("report.html").render(
            errors={run.name: run.error for run in self.runs if run.error},
            panels=shown,
            has_padding=any(map(panels.has_padding, traces.values())),
            summaries=summaries,
            figures=panels.shown_figures(summaries.values()),
            waits={name: _waits(name, trace, end) for name, trace in traces.items()},
            step_time=self.recording.step_time,
            answers="answers are recorded from Wayfarer, and equal under every policy"
            if recorded
            else "answers have the lengths that you gave",
        )
        return {
            "html": html,
            "last": self.last,
            "line": event_html(*((name, panels.gist(trace)) for name, trace in traces.items())),
            "names": [r.name for r in self.recording.requests],
            "num_blocks": pool[0],
            "steps": {run.name: run.film.last for run in self.runs},
        }

    def frame(self, position: int, view: str, walk: str = NO_REQUEST, block: int = 0) -> list[str]:
        """[event line, picture] after that many steps. view: "slots" and "blocks" are of the first
        policy, "race" is of both."""
        run = self.runs[0]
        place = min(position, run.film.last)
        highlight = self.recording.highlight
        if view == "blocks":
            grid = PoolGrid(run.film, run.pool_film, place, walk, block)
            return [grid.line_html(), grid.html(clickable=False)]
        if view == "race":
            own, end = own_colours(highlight), max(SHORTEST_STRIP, self.last)
            at = [(run, min(position, run.film.last)) for run in self.runs]
            return list(lanes_html([lane(run.name, run.film, n, end, own) for run, n in at], own))
        picture = frame_html(run.film, place, highlight, show_plan=True)
        return [event_html(event(run.film, place)), picture]


def _to_the_end(run: Run) -> None:
    """Run the film to its end, to an error, or to the most steps."""
    film = run.film
    film.reach(MOST_STEPS)
    if film.error:
        run.error = f"After {film.last:,} steps: {film.error}"
    elif film.can_go_on:
        run.error = f"It was stopped after {film.last:,} steps, with requests unfinished."


def _waits(name: str, trace: object, end: float) -> str:
    """The picture of waits; its text for a screen reader names the slowest."""
    slowest = max(trace.completions, key=lambda c: c.ttft)
    alt = f"{name}: {slowest.request_id} waits longest, {slowest.ttft:.2f} s for its first token."
    return svg.waits(trace.completions, end, alt, 18 if len(trace.completions) <= 24 else 14)
