"""Time is a value: the engine asks a clock, so the same engine runs in real or in made-up time."""

import math
import time

SAME_TIME = 1e-9  # seconds; a sleep until t may end a rounding error before t


class WallClock:
    """Real time, in seconds since it was made or reset."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._start = time.perf_counter()

    def now(self) -> float:
        return time.perf_counter() - self._start

    def sleep(self, seconds: float) -> None:
        time.sleep(max(0.0, seconds))

    def tick(self) -> None:
        """The engine has finished a step. Real time has passed by itself."""


class VirtualClock:
    """Time that moves only when told: `step_time` seconds a step, and through every sleep at once.

    Steps are counted and multiplied, not added up, so that 200 steps of 0.025 s are exactly 5 s.
    """

    def __init__(self, step_time: float = 0.025) -> None:
        if not (math.isfinite(step_time) and step_time > 0):
            raise ValueError(f"step_time is {step_time}; give seconds above 0")
        self.step_time = step_time
        self.reset()

    def reset(self) -> None:
        self._base = 0.0  # time when the steps below began to be counted
        self._steps = 0

    def now(self) -> float:
        return self._base + self._steps * self.step_time

    def sleep(self, seconds: float) -> None:
        if seconds > 0:
            self._base, self._steps = self.now() + seconds, 0

    def tick(self) -> None:
        self._steps += 1


Clock = WallClock | VirtualClock
