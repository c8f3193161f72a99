"""What is known of each request while a fleet runs: a list for each column of `FleetRun`."""

from __future__ import annotations

import math

import numpy as np

from ..traffic import Traffic
from .backends import Ended

TIMES = "first_scheduled", "first_token", "finish", "reached"
COUNTS = {"preemptions": 0, "cached": 0, "retries": 0, "replica": -1, "prefill_replica": -1}


class Columns:
    """A value for each request and column. num_open: requests that have not ended."""

    def __init__(self, traffic: Traffic) -> None:
        self.num_open = n = len(traffic)
        for name in TIMES:
            setattr(self, name, [math.nan] * n)
        for name, nothing in COUNTS.items():
            setattr(self, name, [nothing] * n)
        self.failure = [""] * n

    def end(self, ended: Ended, network_s: float) -> None:
        """A request has ended. A first token that came earlier, elsewhere, stays. A split request
        without one gets it where it decodes, when it is admitted there."""
        i = ended.number
        self.begin(ended, network_s)
        if self.prefill_replica[i] >= 0 and math.isnan(self.first_token[i]):
            self.first_token[i] = ended.first_scheduled + network_s
        self.finish[i], self.failure[i] = ended.finish + network_s, ended.failure
        self.num_open -= 1

    def begin(self, ended: Ended, network_s: float) -> None:
        """The part of a request that has ended was its first, or one after it."""
        i = ended.number
        if math.isnan(self.first_scheduled[i]):
            self.first_scheduled[i] = ended.first_scheduled
            self.first_token[i] = ended.first_token + network_s
            self.cached[i] = ended.cached
        self.preemptions[i] += ended.preemptions

    def fail(self, number: int, name: str) -> None:
        """A request ends without an answer, or with a part of one."""
        self.failure[number] = name
        self.num_open -= 1

    def arrays(self) -> dict[str, np.ndarray]:
        """All columns, by the names of `FleetRun`."""
        arrays = {name: np.array(getattr(self, name), np.float64) for name in TIMES}
        arrays |= {name: np.array(getattr(self, name), np.int64) for name in COUNTS}
        return arrays | {"failure": np.array(self.failure, dtype=object)}
