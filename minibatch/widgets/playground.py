"""Made-up traffic on the real policies: move a control, and every step is planned anew.

There is no model in it. What a policy decides is real; how long a step takes is assumed: the same,
whatever is in it, or what such steps were measured to take on this machine. The picture says which.
"""

from __future__ import annotations

from collections.abc import Iterator

import ipywidgets
import numpy as np

from ..core.clock import VirtualClock
from ..core.collector import collector_held_back
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.metrics import Summary
from ..engine.trace import Trace
from ..plots.spans import Span
from ..plots.svg import Traffic, strip
from ..schedulers import Scheduler
from ..simulator.cost import CostModel
from ..simulator.pretend import PretendModel
from .frame import event_html
from .menu import COURSE, PolicyMenu, new
from .pages import PAGES
from .still import WithStill

BLOCK_SIZE = 16  # of blocks that never run short
FIGURES = {
    "duration_s": ("time until all are served", "{:.1f} s"),
    "num_steps": ("steps", "{:,}"),
    "slot_utilization": ("rows that yield a token", "{:.0%}"),
    "batch_fill": ("slots with a row", "{:.0%}"),
    "ttft_mean_s": ("time to first token, mean", "{:.2f} s"),
    "ttft_slowest_s": ("time to first token, the slowest", "{:.2f} s"),
    "e2e_mean_s": ("time to last token, mean", "{:.2f} s"),
}


class Playground(WithStill):
    """One policy or two on the same traffic, drawn in time: who arrives, how many wait, who has
    which slot.

        Playground()                                     Dynamic and Continuous
        Playground(MyPolicy)                             yours, and Continuous
        Playground(policies=(mb.Static, mb.Dynamic))     without those of later lessons

    shown: classes of policies, at most two, to begin with. policies: what the two menus offer,
    besides every policy that the notebook defines. The controls give them `max_batch_size` and
    `max_wait`, as far as they take these; a policy that raises is shown with what it raised.
    num_requests: how many arrive. mean_length: of their answers, in tokens. step_time: what a step
    is assumed to take, in seconds. cost: what it takes instead when "measured here" is chosen; None
    is measured then, with Wayfarer, once.
    """

    def __init__(
        self,
        *shown: type[Scheduler],
        policies: tuple[type[Scheduler], ...] = COURSE,
        num_requests: int = 50,
        mean_length: int = 40,
        step_time: float = 0.025,
        cost: CostModel | None = None,
    ) -> None:
        others = [policy for policy in policies if policy not in shown][-2:]
        shown = (*shown, *others[len(shown) - 2 :]) if len(shown) < 2 else shown
        first, second = (*shown, None)[:2]
        self.num_requests = num_requests
        self.mean_length = mean_length
        self.step_time, self.cost = step_time, cost
        random = np.random.default_rng(0)  # drawn once: a control changes what it says, no more
        self._gaps = random.exponential(size=num_requests)
        self._deviations = random.standard_normal(num_requests)
        self._traffic: dict[tuple, list[Request]] = {}

        self.menus = [
            PolicyMenu("policy", first, policies),
            PolicyMenu("against", second, policies, nothing="nothing"),
        ]
        for menu in self.menus:
            menu.on_choice(self.replan)
        self.batch_size = self._control("slots", range(1, 17), 8)
        self.window = self._control("window, s", (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0), 0.25)
        self.rate = self._control("arrivals per s", (2, 4, 6, 8, 12, 16, 32, "all at once"), 8)
        self.spread = self._control(
            "lengths",
            [("all equal", 0.0), ("a little apart", 0.3), ("far apart", 0.86), ("wild", 1.4)],
            0.86,
        )
        self.prompt = self._control("prompt tokens", [(f"{n:,}", n) for n in (1, 100, 1300)], 1)
        same = f"{step_time * 1e3:g} ms, whatever is in it"
        self.takes = self._control("a step takes", [(same, False), ("measured here", True)], False)
        self.takes.layout.width = "23em"
        controls = [self.batch_size, self.window, self.rate, self.spread, self.prompt, self.takes]
        for control in controls:
            control.observe(lambda _: self.replan(), "value")
        super().__init__([*self.menus, *controls])
        self.replan()

    @staticmethod
    def _control(description: str, options: object, value: object) -> ipywidgets.Dropdown:
        return ipywidgets.Dropdown(
            options=options,
            value=value,
            description=description,
            layout=ipywidgets.Layout(width="18em"),
            style={"description_width": "8em"},
        )

    def requests(self) -> list[Request]:
        """The traffic that the controls describe: Poisson arrivals, lognormal lengths."""
        described = self.spread.value, self.rate.value, self.prompt.value
        if described not in self._traffic:  # long prompts take a while to be checked
            self._traffic = {described: self._requests(*described)}
        return self._traffic[described]

    def _requests(self, sigma: float, rate: float | str, prompt: int) -> list[Request]:
        lengths = self.mean_length * np.exp(sigma * self._deviations - sigma**2 / 2)
        everyone = rate == "all at once"
        arrivals = 0 * self._gaps if everyone else np.cumsum(self._gaps) / rate
        return [
            Request(
                [0] * prompt,
                max_tokens=max(1, round(length)),
                arrival_time=float(arrival),
                request_id=str(number),
            )
            for number, (length, arrival) in enumerate(zip(lengths, arrivals, strict=True), 1)
        ]

    def traces(self) -> dict[str, Trace]:
        """The traffic under each policy, by the policy's name."""
        return dict(self._serve(policy) for policy in self._policies())

    def _policies(self) -> Iterator[Scheduler]:
        known = {"max_batch_size": self.batch_size.value, "max_wait": self.window.value}
        for menu in self.menus:
            if menu.chosen is not None:
                yield new(menu.chosen, known)

    def _serve(self, policy: Scheduler) -> tuple[str, Trace]:
        requests = self.requests()
        num_blocks = sum(len(r.prompt) + r.max_tokens for r in requests) // BLOCK_SIZE
        engine = Engine(
            PretendModel(),
            policy,
            num_blocks=num_blocks + len(requests),  # for each at most one that is not full
            block_size=BLOCK_SIZE,
            clock=VirtualClock(self.cost if self.takes.value else self.step_time),
        )
        for request in requests:
            engine.add(request)
        while engine.has_work:
            engine.step()
        window = f", max_wait={policy.max_wait:g}" if hasattr(policy, "max_wait") else ""
        return f"{type(policy).__name__}({policy.max_batch_size}{window})", engine.trace

    @collector_held_back()
    def replan(self) -> None:
        """Plan it all anew and show it."""
        if self.takes.value and self.cost is None:
            self._measure()
        traces, error = {}, ""
        try:
            for policy in self._policies():
                name, trace = self._serve(policy)
                traces[name] = trace
        except Exception as raised:  # a policy under construction
            error = f"{type(raised).__name__}: {raised}"
        self.line.value = event_html(*((name, _gist(trace)) for name, trace in traces.items()))
        end = max((trace.steps[-1].end_time for trace in traces.values()), default=0)
        self.view.value = PAGES.get_template("playground.html").render(
            panels=[_panel(name, trace, end) for name, trace in traces.items()],
            error=error,
            has_padding=any(_padding(trace) for trace in traces.values()),
            summaries={name: _summary(trace) for name, trace in traces.items()},
            figures=FIGURES,
            step_time=self.step_time,
            cost=self.cost if self.takes.value else None,
            prompt=self.prompt.value,
        )

    def _measure(self) -> None:
        from ..bench.measure import cost_model  # these import transformers, which takes seconds
        from ..model.load import load_model

        self.view.value = PAGES.get_template("measuring.html").render()
        self.cost = cost_model(load_model("wayfarer"))


def _panel(name: str, trace: Trace, end: float) -> tuple[str, str]:
    """What was found, and its picture."""

    def edges(span: Span) -> tuple[float, float]:
        return trace.steps[span.start].start_time, trace.steps[span.end - 1].end_time

    summary = trace.summary()
    useful = f"{summary['slot_utilization']:.0%} of rows yield a token"
    finding = f"{name}: {useful}"
    traffic = Traffic([c.arrival_time for c in trace.completions], list(_queue(trace)))
    options = {"unit": "seconds", "row_height": 16, "traffic": traffic}
    return finding, strip(trace.steps, trace.max_batch_size, end, finding, edges, **options)


def _summary(trace: Trace) -> Summary:
    """With the slowest in place of percentiles, for which the requests are too few."""
    slowest = max(completion.ttft for completion in trace.completions)
    return trace.summary() | {"ttft_slowest_s": slowest}


def _gist(trace: Trace) -> str:
    """What to compare: when all were served, and how long each waited for a first token."""
    summary = trace.summary()
    first = f"{summary['ttft_mean_s']:.2f} s to the first token on average"
    return f"all served after {summary['duration_s']:.1f} s, {first}."


def _queue(trace: Trace) -> Iterator[tuple[float, int]]:
    """From each moment on, how many have arrived and are not yet in a slot."""
    changes = [(c.arrival_time, 1) for c in trace.completions]
    changes += [(c.first_scheduled_time, -1) for c in trace.completions]
    length = 0
    for time, change in sorted(changes):
        length += change
        yield time, length


def _padding(trace: Trace) -> bool:
    return any(row.num_padding_tokens for step in trace.steps for row in step.rows)
