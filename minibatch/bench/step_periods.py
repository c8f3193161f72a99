"""The time of every step of real runs, from its start to the start of the next: data for a fit.

A step's period holds all that a step costs: planning, the forward pass, updating, recording. What
an engine sleeps between two steps is in no period.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core.clock import Clock
from ..core.plan import StepPlan
from ..engine.trace import Trace


@dataclass
class Steps:
    """Plans of steps, and the seconds of each."""

    plans: list[StepPlan] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def extend(self, other: Steps) -> None:
        """Add the steps of another run."""
        self.plans += other.plans
        self.seconds += other.seconds


class PlanRecorder:
    """A clock for an engine: it shows the time of another clock, and keeps every plan.

    plans: of the steps since the last reset. asleep: by number of the step, when the engine went to
    sleep after it.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._before = clock, 0.0
        self.plans: list[StepPlan] = []
        self.asleep: dict[int, float] = {}

    def now(self) -> float:
        """Seconds on the other clock."""
        return self._clock.now()

    @property
    def total(self) -> float:
        """Seconds since it was made, whatever was reset."""
        return self._before + self._clock.now()

    def planned(self) -> float:
        """A plan has been made; returns the time."""
        return self._clock.planned()

    def tick(self, plan: StepPlan) -> None:
        """A step has ended: keep its plan."""
        self.plans.append(plan)
        self._clock.tick(plan)

    def sleep(self, seconds: float) -> None:
        """Let so many seconds pass. They belong to no step."""
        self.asleep.setdefault(len(self.plans) - 1, self._clock.now())
        self._clock.sleep(seconds)

    def reset(self) -> None:
        """Begin again at 0, without plans."""
        self._before = self.total
        self.plans, self.asleep = [], {}
        self._clock.reset()

    def steps(self, trace: Trace) -> Steps:
        """All steps of the trace of its engine; the seconds of each until the next one starts, or
        the engine sleeps. Raises ValueError if there is not one plan for each."""
        if len(trace.steps) != len(self.plans):
            raise ValueError(
                f"the trace has {len(trace.steps)} steps, and {len(self.plans)} plans were "
                "recorded; give the whole trace of the engine that uses this clock"
            )
        starts = [step.start_time for step in trace.steps]
        ends = [*starts[1:], *[step.end_time for step in trace.steps[-1:]]]
        pairs = enumerate(zip(starts, ends, strict=True))
        return Steps(
            list(self.plans), [self.asleep.get(i, end) - start for i, (start, end) in pairs]
        )
