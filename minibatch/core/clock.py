"""Time is a value: the engine asks a clock, so the same engine runs in real or in made-up time."""

import math
import time
from collections.abc import Callable

from .plan import StepPlan

SAME_TIME = 1e-9  # seconds; a sleep until t may end a rounding error before t


class WallClock:
    """Real time, in seconds since it was made or reset."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again at 0."""
        self._start = time.perf_counter()

    def now(self) -> float:
        """Seconds since it was made or reset."""
        return time.perf_counter() - self._start

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        time.sleep(max(0.0, seconds))

    def planned(self) -> float:
        """The engine has made a plan; returns the time. Real time has passed by itself."""
        return self.now()

    def tick(self, plan: StepPlan) -> None:
        """The engine has computed a plan. Real time has passed by itself."""


class ProcessClock(WallClock):
    """CPU seconds of this process. While another program uses the core, no time passes.

    For comparisons on a CPU; computation on a GPU is not counted. No time passes while the process
    is idle, so a sleep is added at once, as on a VirtualClock. Threads add up:
    `measure.one_thread`.
    """

    def reset(self) -> None:
        """Begin again at 0."""
        self._start = time.process_time()

    def now(self) -> float:
        """CPU seconds since it was made or reset, and the sleeps between them."""
        return time.process_time() - self._start

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        self._start -= max(0.0, seconds)


class VirtualClock:
    """Time that moves only by the time of each step, and by each sleep at once.

    step_time: seconds, the same for every step; or a function that takes the step's plan and
    returns its seconds, such as a `minibatch.simulator.cost.CostModel`. Equal steps are counted and
    multiplied, not added up, so that 200 steps of 0.025 s are exactly 5 s.
    scheduling_time: seconds, 0 or more, that the engine itself takes for each plan, before the step
    begins; `Engine(overlap=True)` makes the next plan while the step runs.
    """

    def __init__(
        self,
        step_time: float | Callable[[StepPlan], float] = 0.025,
        scheduling_time: float = 0.0,
    ) -> None:
        if not callable(step_time):
            _check_seconds("step_time", step_time)
        if not (math.isfinite(scheduling_time) and scheduling_time >= 0):
            raise ValueError(f"scheduling_time is {scheduling_time}; give seconds, 0 or more")
        self.step_time, self.scheduling_time = step_time, scheduling_time
        self.reset()

    def reset(self) -> None:
        """Begin again at 0."""
        self._base = 0.0  # time when the steps below began to be counted
        self._steps = 0  # equal ones

    def now(self) -> float:
        """Seconds since it was made or reset."""
        return self._base + (self._steps * self.step_time if self._steps else 0.0)

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass."""
        if seconds > 0:
            self._base, self._steps = self.now() + seconds, 0

    def planned(self) -> float:
        """The engine has made a plan: it took `scheduling_time`. Returns the time."""
        self.sleep(self.scheduling_time)
        return self.now()

    def tick(self, plan: StepPlan) -> None:
        """The engine has computed a plan: it took `step_time`."""
        if callable(self.step_time):
            self._base += self.step_seconds(plan)
        else:
            self._steps += 1

    def step_seconds(self, plan: StepPlan) -> float:
        """Seconds that a step of this plan takes, `scheduling_time` not included."""
        if callable(self.step_time):
            return _check_seconds("step_time(plan)", self.step_time(plan))
        return self.step_time


def _check_seconds(name: str, seconds: float) -> float:
    if not (math.isfinite(seconds) and seconds > 0):
        raise ValueError(f"{name} is {seconds}; give seconds above 0")
    return seconds


Clock = WallClock | ProcessClock | VirtualClock
