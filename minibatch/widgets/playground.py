"""Made-up traffic on the real policies: move a control, and every step is planned anew.

There is no model in it and no measured time: each step takes `step_time` seconds, however many rows
it has, and a prompt is computed in one step. What a policy decides is real; how long it takes is an
idealisation, and the picture says so.
"""

import html

import ipywidgets
import numpy as np

from ..core.clock import VirtualClock
from ..core.collector import collector_held_back
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.metrics import Summary
from ..engine.trace import Trace
from ..plots.timeline import Span
from ..schedulers import Continuous, Dynamic, Scheduler
from ..simulator.pretend import PretendModel
from .frame import CARD, CELL
from .still import WithStill
from .strip import LEGEND, strip

FIGURES = {
    "duration_s": ("time until all are served", "{:.1f} s"),
    "num_steps": ("steps", "{:,}"),
    "slot_utilization": ("rows that yield a token", "{:.0%}"),
    "batch_fill": ("slots with a row", "{:.0%}"),
    "ttft_mean_s": ("time to first token, mean", "{:.2f} s"),
    "ttft_p99_s": ("time to first token, p99", "{:.2f} s"),
    "e2e_mean_s": ("time to last token, mean", "{:.2f} s"),
}
AXIS = "display: flex; justify-content: space-between"


class Playground(WithStill):
    """Two policies on the same traffic: batches formed in a window, and continuous batching.

    num_requests: how many arrive. mean_length: of their answers, in tokens. step_time: what a step
    is assumed to take, in seconds.
    """

    def __init__(
        self, num_requests: int = 50, mean_length: int = 40, step_time: float = 0.025
    ) -> None:
        self.num_requests = num_requests
        self.mean_length = mean_length
        self.step_time = step_time
        random = np.random.default_rng(0)  # drawn once: a control changes what it says, no more
        self._gaps = random.exponential(size=num_requests)
        self._deviations = random.standard_normal(num_requests)

        self.batch_size = self._control("slots", range(1, 17), 8)
        self.window = self._control("window, s", (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0), 0.25)
        self.rate = self._control("arrivals per s", (2, 4, 6, 8, 12, 16, 32, "all at once"), 8)
        self.spread = self._control(
            "lengths",
            [
                ("all equal", 0.0),
                ("a little apart", 0.3),
                ("as in real chats", 0.86),
                ("wild", 1.4),
            ],
            0.86,
        )
        controls = [self.batch_size, self.window, self.rate, self.spread]
        for control in controls:
            control.observe(lambda _: self.replan(), "value")
        super().__init__(controls)
        self.replan()

    @staticmethod
    def _control(description: str, options: object, value: object) -> ipywidgets.Dropdown:
        return ipywidgets.Dropdown(
            options=options,
            value=value,
            description=description,
            layout=ipywidgets.Layout(width="18em"),
            style={"description_width": "7em"},
        )

    def requests(self) -> list[Request]:
        """The traffic that the controls describe: Poisson arrivals, lognormal lengths."""
        sigma = self.spread.value
        lengths = self.mean_length * np.exp(sigma * self._deviations - sigma**2 / 2)
        everyone = self.rate.value == "all at once"
        arrivals = 0 * self._gaps if everyone else np.cumsum(self._gaps) / self.rate.value
        return [
            Request(
                [0],
                max_tokens=max(1, round(length)),
                arrival_time=float(arrival),
                request_id=str(number),
            )
            for number, (length, arrival) in enumerate(zip(lengths, arrivals, strict=True), 1)
        ]

    def traces(self) -> dict[str, Trace]:
        """The traffic under each policy, by the policy's name."""
        size, window = self.batch_size.value, self.window.value
        return {
            f"Dynamic({size}, max_wait={window:g})": self._serve(Dynamic(size, window)),
            f"Continuous({size})": self._serve(Continuous(size)),
        }

    def _serve(self, policy: Scheduler) -> Trace:
        requests = self.requests()
        num_blocks = sum(len(request.prompt) + request.max_tokens for request in requests)
        clock = VirtualClock(self.step_time)
        engine = Engine(PretendModel(), policy, num_blocks=num_blocks, clock=clock)
        for request in requests:
            engine.add(request)
        while engine.has_work:
            engine.step()
        return engine.trace

    @collector_held_back()
    def replan(self) -> None:
        """Plan it all anew and show it."""
        traces = self.traces()
        end = max(trace.steps[-1].end_time for trace in traces.values())
        strips = "".join(_panel(name, trace, end) for name, trace in traces.items())
        strips += f'<div style="{AXIS}"><span>0 s</span><span>{end:.1f} s</span></div>{LEGEND}'
        summaries = {name: trace.summary() for name, trace in traces.items()}
        self.view.value = (
            f'<div style="{CARD}">{strips}{_table(summaries)}'
            '<p style="margin: 0.4em 0 0"><b>An idealisation:</b> the policies are the real ones, '
            f"the traffic is made up, no model runs. Every step takes {self.step_time * 1e3:g} ms, "
            "however many rows it has, and a prompt takes one step.</p></div>"
        )


def _panel(name: str, trace: Trace, end: float) -> str:
    def edges(span: Span) -> tuple[float, float]:
        return trace.steps[span.start].start_time, trace.steps[span.end - 1].end_time

    summary = trace.summary()
    useful = f"{summary['slot_utilization']:.0%} of rows yield a token"
    finding = f"{name}: {summary['duration_s']:.1f} s, {useful}"
    picture = strip(trace.steps, trace.max_batch_size, end, finding, edges, row_height=12)
    return f'<p style="margin: 0.3em 0 0.1em"><b>{html.escape(finding)}</b></p>{picture}'


def _table(summaries: dict[str, Summary]) -> str:
    head = "".join(f'<th scope="col" style="{CELL}">{html.escape(n)}</th>' for n in summaries)
    lines = [
        f'<tr><th scope="row" style="{CELL}; font-weight: normal">{label}</th>'
        + "".join(f'<td style="{CELL}">{form.format(s[key])}</td>' for s in summaries.values())
        + "</tr>"
        for key, (label, form) in FIGURES.items()
    ]
    return (
        '<table style="border-collapse: collapse; margin: 0.5em 0 0"><thead><tr><td></td>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )
