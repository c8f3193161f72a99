"""Move the window of a policy, and see which requests start when: in one stream, and in all.

Engine and policy are real; time is virtual: every step takes 25 ms.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import ipywidgets

from .. import plots
from ..core.clock import VirtualClock
from ..core.request import Request
from ..engine.engine import Engine
from ..schedulers import Dynamic, Scheduler
from ..simulator.pretend import PretendModel
from ..simulator.streams import STEP_TIME, Outcome, outcomes
from .frame import event_html
from .still import WithStill

FIRST, LAST = 25, 30  # requests of a stream whose departures are drawn: a whole burst of six


class WindowSlider(WithStill):
    """Controls for the traffic and the window, which begins at `window` seconds.

    traffic: streams of at least 31 requests in order of arrival, by name; the first is served.
    runs: the outcomes of all streams by name and window; 0 must be one of the windows. policy:
    makes a policy from a window in seconds.
    """

    def __init__(
        self,
        traffic: Mapping[str, Sequence[Sequence[Request]]],
        runs: Mapping[str, Mapping[float, Sequence[Outcome]]],
        policy: Callable[[float], Scheduler] = lambda window: Dynamic(8, window),
        window: float = 0.5,
    ) -> None:
        self.traffic, self.runs, self.policy = traffic, runs, policy
        longest = max(max(by_window) for by_window in runs.values())
        look = {"style": {"description_width": "initial"}}
        wide, less = (ipywidgets.Layout(width=f"{em}em") for em in (18, 21))
        self.name = ipywidgets.Dropdown(
            options=list(traffic), description="traffic", layout=wide, **look
        )
        look |= {"layout": less, "continuous_update": False}
        self.window = ipywidgets.FloatSlider(
            window, min=0.0, max=longest, step=0.25, description="window, s", **look
        )
        controls = [self.name, self.window]
        for control in controls:
            control.observe(lambda _: self.replan(), "value")
        super().__init__(controls)
        self.replan()

    def replan(self) -> None:
        """Serve the stream again and show it."""
        name, window = self.name.value, self.window.value
        stream = self.traffic[name][0]
        clock = VirtualClock(STEP_TIME)
        engine = Engine(PretendModel(), self.policy(window), clock=clock)
        engine.run(stream[: LAST + 1])  # no later arrival changes what is drawn
        (outcome,) = outcomes(lambda: self.policy(window), [stream])
        words = f"{outcome.ttft_s:.2f} s to the first token on average, from request 21 on."
        self.line.value = event_html((f"Window {window:g} s", words))
        shown = {f"requests {FIRST} to {LAST}": engine.trace}
        figure = plots.stream_and_window(
            shown, {name: self.runs[name]}, {name: (window, outcome)}, _seconds(stream)
        )
        self.view.value = figure._repr_html_()


def _seconds(stream: Sequence[Request]) -> tuple[float, float]:
    """From the first arrival that is drawn until most of these requests have their batch."""
    start, end = (stream[i - 1].arrival_time for i in (FIRST, LAST))
    return start, min(max(start + 8, end + 3), stream[LAST].arrival_time)
