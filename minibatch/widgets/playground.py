"""Synthetic traffic on the real policies: move a control, and every step is planned again.

There is no model. The policies' decisions are real. The time of a step is an assumption: a
constant, or a cost model measured on this machine. The picture states which.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import ipywidgets

from ..core.clock import VirtualClock
from ..core.collector import collector_held_back
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..schedulers import Scheduler
from ..simulator.cost import CostModel
from . import playground_panels as panels
from .frame import event_html
from .menu import PolicyMenu
from .playground_traffic import AT_ONCE, Described, Traffic
from .policies import COURSE, new
from .still import WithStill
from .widget_templates import PAGES

OWN, BUDGETS = "(policy's default)", (16, 32, 64, 128, 256, 512, 1024, 2048)  # tokens a step
ENDLESS, WHOLE = "never short", "a whole request"


class DoesNotFit(ValueError):
    """A request that the pool could never hold."""


class Playground(WithStill):
    """One or two policies on the same traffic, drawn in time: arrivals, queue, slots.

        Playground()                                     Dynamic and Continuous
        Playground(MyPolicy)                             yours, and Continuous
        Playground(policies=(mb.Static, mb.Dynamic))     without those of later lessons

    shown: classes of policies at the start, at most two. policies: the entries of the two menus,
    besides every policy that the notebook defines. The controls give a policy `max_batch_size`,
    `max_wait` and, if chosen, a budget `max_batch_tokens`, where its `__init__` accepts them. If a
    policy raises an exception, it is shown.
    "memory": tokens in the pool of KV blocks. "a whole request": one block holds the longest
    request, so that each request reserves the maximum. "begin alike": the share of its prompt that
    a request has in common with all others; only the prefix cache makes use of it.
    num_requests: how many arrive. mean_length: of their answers, in tokens. step_time: assumed
    seconds of a step. cost: the cost model for "measured here"; None: it is then measured once,
    with Wayfarer.
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
        self.mean_length = mean_length
        self.step_time, self.cost = step_time, cost
        self.traffic = Traffic(num_requests, mean_length)

        self.menus = [
            PolicyMenu("policy", first, policies),
            PolicyMenu("against", second, policies, nothing="nothing"),
        ]
        for menu in self.menus:
            menu.on_choice(self.replan)
        self.batch_size = self._control("slots", range(1, 17), 8)
        self.window = self._control("window, s", (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0), 0.25)
        budgets = [(OWN, 0), *((f"{n:,} tokens", n) for n in BUDGETS)]
        self.budget = ipywidgets.SelectionSlider(
            options=budgets,
            description="budget",
            continuous_update=False,
            layout=ipywidgets.Layout(width="26em"),
            style={"description_width": "8em"},
        )
        self.rate = self._control("arrivals per s", (2, 4, 6, 8, 12, 16, 32, AT_ONCE), 8)
        self.spread = self._control(
            "lengths",
            [("all equal", 0.0), ("a little apart", 0.3), ("far apart", 0.86), ("wild", 1.4)],
            0.86,
        )
        self.prompt = self._control("prompt tokens", [(f"{n:,}", n) for n in (1, 100, 1300)], 1)
        shares = [(f"{share:.0%}", share) for share in (0.0, 0.5, 0.9, 1.0)]
        self.common = self._control("begin alike", shares, 0.0)
        sizes = [(f"{n:,} tokens", n) for n in (16384, 8192, 4096, 2048, 1024)]
        self.pool = self._control("memory", [(ENDLESS, math.inf), *sizes], math.inf)
        self.block_size = self._control("block size", [1, 16, 64, 256, WHOLE], 16)
        self.caching = self._control("prefix cache", [("off", False), ("on", True)], False)
        same = f"{step_time * 1e3:g} ms, whatever is in it"
        self.takes = self._control("a step takes", [(same, False), ("measured here", True)], False)
        self.takes.layout.width = "23em"
        controls = [self.batch_size, self.window, self.rate, self.spread, self.prompt, self.takes]
        controls += [self.budget, self.pool, self.block_size, self.caching, self.common]
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
        """The traffic that the controls describe."""
        controls = self.spread, self.rate, self.prompt, self.common
        return self.traffic.requests(Described(*(control.value for control in controls)))

    def blocks(self) -> tuple[int, int]:
        """(number of blocks in the pool, tokens in a block)."""
        needs = [len(request.prompt) + request.max_tokens for request in self.requests()]
        size = max(needs) if self.block_size.value == WHOLE else self.block_size.value
        if self.pool.value == math.inf:
            return sum(-(-tokens // size) for tokens in needs), size
        return max(1, self.pool.value // size), size

    def traces(self) -> dict[str, Trace]:
        """The traffic under each policy, by the policy's name."""
        return dict(self._serve(policy) for policy in self._policies())

    def _policies(self) -> Iterator[Scheduler]:
        known = {"max_batch_size": self.batch_size.value, "max_wait": self.window.value}
        if self.budget.value:
            known["max_batch_tokens"] = self.budget.value
        for menu in self.menus:
            if menu.chosen is not None:
                yield new(menu.chosen, known)

    def _serve(self, policy: Scheduler) -> tuple[str, Trace]:
        num_blocks, block_size = self.blocks()
        engine = Engine(
            self.traffic.model(),
            policy,
            num_blocks=num_blocks,
            block_size=block_size,
            prefix_caching=self.caching.value,
            clock=VirtualClock(self.cost if self.takes.value else self.step_time),
        )
        for request in self.requests():
            try:
                engine.add(request)
            except ValueError as error:
                raise DoesNotFit(error) from None
        while engine.has_work:
            engine.step()
        window = f", max_wait={policy.max_wait:g}" if hasattr(policy, "max_wait") else ""
        tokens = getattr(policy, "max_batch_tokens", None)
        budget = f", {tokens:,} tokens a step" if tokens else ""
        return f"{type(policy).__name__}({policy.max_batch_size}{window}{budget})", engine.trace

    @collector_held_back()
    def replan(self) -> None:
        """Plan everything again and show it."""
        if self.takes.value and self.cost is None:
            self._measure()
        traces, what, error = {}, "The policy stopped.", ""
        try:
            for policy in self._policies():
                name, trace = self._serve(policy)
                traces[name] = trace
        except DoesNotFit as refused:
            what, error = "No request is served.", str(refused)
        except Exception as raised:  # an unfinished policy
            error = f"{type(raised).__name__}: {raised}"
        self._show(traces, what, error)

    def _show(self, traces: dict[str, Trace], what: str, error: str) -> None:
        gists = ((name, panels.gist(trace)) for name, trace in traces.items())
        self.line.value = event_html(*gists)
        end = max((trace.steps[-1].end_time for trace in traces.values()), default=0)
        num_blocks, block_size = self.blocks()
        is_endless = self.pool.value == math.inf
        summaries = {
            name: panels.summary(trace, num_blocks, is_endless) for name, trace in traces.items()
        }
        self.view.value = PAGES.get_template("playground.html").render(
            panels=[
                (
                    *panels.panel(name, trace, end),
                    panels.memory(trace, end, num_blocks, block_size, is_endless),
                )
                for name, trace in traces.items()
            ],
            what=what,
            error=error,
            has_padding=any(map(panels.has_padding, traces.values())),
            summaries=summaries,
            figures=panels.shown_figures(summaries.values()),
            step_time=self.step_time,
            cost=self.cost if self.takes.value else None,
            prompt=self.prompt.value,
            cut=any("tokens a step" in name for name in traces),
        )

    def _measure(self) -> None:
        from ..bench.measure import cost_model  # these import transformers, which takes seconds
        from ..model.load import load_model

        self.view.value = PAGES.get_template("measuring.html").render()
        self.cost = cost_model(load_model("wayfarer"))
