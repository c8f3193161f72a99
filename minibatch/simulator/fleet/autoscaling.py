"""How many replicas: a demand from one signal, and what keeps the number from flapping.

    load ──> demand, in replicas ──> average ──> limits ──> delay ──> want
            (one line each below)   look_back_s  min, max   up, down

The rules around the demand are Ray Serve's: its AutoscalingConfig has the same names and defaults.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from typing import NamedTuple

from ...core.checks import check_number, integer


class Load(NamedTuple):
    """The whole fleet at one moment. num_replicas: that serve or start, without those that drain;
    num_ready: that serve. num_ongoing: requests that wait or run, also at the router.
    num_queue_tokens: uncached prompt tokens of requests without a first token. kv_use: mean share
    of KV blocks held, of replicas that serve. max_running: places in one replica's batch."""

    now: float
    num_replicas: int
    num_ready: int
    num_ongoing: int
    num_queue_tokens: int
    kv_use: float
    max_running: int


class Autoscaler(ABC):
    """Called every `interval_s`. Your own rule derives from this class and writes `demand`.

    min_replicas, max_replicas: limits; a minimum of 0 scales to zero. look_back_s: the demand is
    averaged over this time. upscale_delay_s, downscale_delay_s: for how long the demand must differ
    from the number of replicas before it changes. A fleet without replicas starts one at once.
    """

    def __init__(
        self,
        min_replicas: int = 1,
        max_replicas: int = 8,
        *,
        interval_s: float = 10.0,
        look_back_s: float = 30.0,
        upscale_delay_s: float = 30.0,
        downscale_delay_s: float = 600.0,
    ) -> None:
        self.min_replicas = integer("min_replicas", min_replicas, at_least=0)
        self.max_replicas = integer("max_replicas", max_replicas, at_least=max(1, min_replicas))
        self.interval_s, self.look_back_s = interval_s, look_back_s
        check_number("interval_s", interval_s, "be above 0 seconds", lambda x: x > 0)
        self.upscale_delay_s, self.downscale_delay_s = upscale_delay_s, downscale_delay_s
        for name in ("look_back_s", "upscale_delay_s", "downscale_delay_s"):
            check_number(name, getattr(self, name), "be 0 or more seconds", lambda x: x >= 0)
        self._demands: deque[tuple[float, float]] = deque()
        self._since: tuple[int, float] = 0, 0.0  # the direction wanted, and since when

    @abstractmethod
    def demand(self, load: Load) -> float:
        """How many replicas this load needs."""

    def want(self, load: Load) -> int:
        """How many replicas there should be from now on."""
        self._demands.append((load.now, self.demand(load)))
        while self._demands[0][0] < load.now - self.look_back_s:
            self._demands.popleft()
        mean = math.fsum(demand for _, demand in self._demands) / len(self._demands)
        wanted = min(max(math.ceil(mean - 1e-9), self.min_replicas), self.max_replicas)
        if load.num_replicas == 0 and load.num_ongoing:
            return max(1, wanted)
        direction = (wanted > load.num_replicas) - (wanted < load.num_replicas)
        if direction != self._since[0]:
            self._since = direction, load.now
        delay = self.upscale_delay_s if direction > 0 else self.downscale_delay_s
        return wanted if load.now - self._since[1] >= delay else load.num_replicas


class OngoingRequests(Autoscaler):
    """As many replicas as give each `target` requests, waiting and running. Ray Serve's
    `target_ongoing_requests`; it ignores lengths (ray-llm's issue 133)."""

    def __init__(self, target: float = 2.0, *limits: int, **rules: float) -> None:
        super().__init__(*limits, **rules)
        self.target = target
        check_number("target", target, "be above 0 requests", lambda x: x > 0)

    def demand(self, load: Load) -> float:
        return load.num_ongoing / self.target


class QueueTokens(Autoscaler):
    """As many replicas as give each at most `target` prompt tokens to compute, and every request a
    place in a batch."""

    def __init__(self, target: float = 4096, *limits: int, **rules: float) -> None:
        super().__init__(*limits, **rules)
        self.target = target
        check_number("target", target, "be above 0 tokens", lambda x: x > 0)

    def demand(self, load: Load) -> float:
        return max(load.num_queue_tokens / self.target, load.num_ongoing / load.max_running)


class KVUse(Autoscaler):
    """As many replicas as make requests hold the share `target` of the KV blocks. A pool that is
    full shows no queue, so the number grows by a factor of at most 1 / target at a time."""

    def __init__(self, target: float = 0.7, *limits: int, **rules: float) -> None:
        super().__init__(*limits, **rules)
        self.target = target
        check_number("target", target, "be above 0 and at most 1", lambda x: 0 < x <= 1)

    def demand(self, load: Load) -> float:
        return load.kv_use * load.num_ready / self.target
