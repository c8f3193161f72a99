"""`mb.Fleet`: several replicas of one engine behind a router, under one virtual clock."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ...core.checks import check_number, integer
from ...core.clock import VirtualClock
from ...core.plan import StepPlan
from ...core.request import Request
from ...routers import LeastRequests, Router
from ...schedulers import Scheduler
from ..cost import contents
from ..fast_path import reason_for_engine
from ..simulate import FAST, columns_and_requests, longest
from ..traffic import Traffic
from .apart import Apart
from .autoscaling import Autoscaler
from .backends import EngineBackend, FastBackend, StepTime
from .loop import Loop
from .outcome import FleetRun
from .replica import Backend, Replica


@dataclass(frozen=True)
class Failure:
    """A replica fails at this time, and starts again `back_after_s` seconds later, or never."""

    replica: int
    at_s: float
    back_after_s: float = math.inf


@dataclass(frozen=True)
class Slower:
    """A step time, so many times as long."""

    step_time: StepTime
    factor: float

    @property
    def formula(self) -> tuple[Callable[..., float], tuple[float, ...]]:
        function, numbers = self.step_time.formula
        return function, tuple(self.factor * number for number in numbers)

    def __call__(self, plan: StepPlan) -> float:
        if not hasattr(self.step_time, "formula"):
            return self.factor * self.step_time(plan)
        function, numbers = self.formula
        return function(numbers, *contents(plan))


class Fleet:
    """Replicas with equal engines, a router in front, and a network between.

    policy: of every replica; copies are used. step_time: of a replica, as for `mb.simulate`.
    num_replicas: at the start. router: see minibatch/routers/; a copy is used. num_blocks,
    block_size: of each replica's pool. prefix_caching: each replica has its own cache; then,
    and where `mb.simulate` would do so, the real engine runs every step.
    view_age_s: how old the reports are that the router sees. report_every_s: replicas report at
    multiples of this; 0 is after every step. router_s: what a decision takes. network_s: between
    router and replica, one way. max_ongoing: most requests that the router has at one replica;
    others wait in the router's queue. slowdown: replica -> factor of its step times. failures: when
    replicas fail. Requests without a token are sent to another replica then, once. apart: prefill
    and decode on different replicas (apart.py). autoscaler: changes the number of replicas
    (autoscaling.py); start_s: what a new one takes to start.
    """

    def __init__(
        self,
        policy: Scheduler,
        step_time: StepTime,
        num_replicas: int = 2,
        router: Router | None = None,
        *,
        num_blocks: int | None = None,
        block_size: int = 16,
        prefix_caching: bool = False,
        view_age_s: float = 0.0,
        report_every_s: float = 0.0,
        router_s: float = 0.0,
        network_s: float = 0.0,
        max_ongoing: int | None = None,
        slowdown: Mapping[int, float] | None = None,
        failures: Iterable[Failure] = (),
        apart: Apart | None = None,
        autoscaler: Autoscaler | None = None,
        start_s: float = 0.0,
    ) -> None:
        VirtualClock(step_time)  # raises for what is no time
        self.policy, self.step_time = policy, step_time
        self.num_replicas = integer("num_replicas", num_replicas, at_least=1)
        self.router = LeastRequests() if router is None else router
        if not hasattr(self.router, "choose"):
            raise TypeError(
                f"{router!r} is not a router; give one, such as mb.routers.PowerOfTwo()"
            )
        self.pool = {"num_blocks": num_blocks, "block_size": block_size}
        self.prefix_caching = prefix_caching
        self.view_age_s, self.report_every_s = view_age_s, report_every_s
        self.router_s, self.network_s, self.start_s = router_s, network_s, start_s
        for name in ("view_age_s", "report_every_s", "router_s", "network_s", "start_s"):
            check_number(name, getattr(self, name), "be 0 or more seconds", lambda x: x >= 0)
        if max_ongoing is not None:
            integer("max_ongoing", max_ongoing, at_least=1)
        self.max_ongoing, self.slowdown = max_ongoing, dict(slowdown or {})
        self.failures, self.apart, self.autoscaler = tuple(failures), apart, autoscaler
        self._check_replicas()

    def run(self, requests: Traffic | Iterable[Request]) -> FleetRun:
        """Serve the traffic; the same fleet gives the same result again. Raises what `mb.simulate`
        raises."""
        traffic, requests = columns_and_requests(requests)
        policies = [self._policy(number) for number in range(self.num_replicas)]
        cached = "The engine ran: the fast simulator has no prefix cache."
        why = cached if self.prefix_caching else None
        for policy in policies:
            why = why or reason_for_engine(policy, requests, self.step_time)
        vocab_size = 1 + max((max(r.prompt) for r in requests or ()), default=0)
        limits = max(10_000, longest(traffic)), vocab_size

        def make(number: int) -> Backend:
            policy, caches = copy.deepcopy(self._policy(number)), self.prefix_caching
            step_time = self._step_time(number)
            if why is None:
                return FastBackend(policy, step_time, self.pool)
            if self.apart is not None:  # a decode replica gets K and V, and looks for none
                caches = caches and number < self.apart.num_prefill
            return EngineBackend(policy, step_time, self.pool, caches, limits)

        def replica(number: int) -> Replica:
            size = self._policy(number).max_batch_size
            return Replica(number, lambda: make(number), size, self.pool["block_size"])

        routers = self.router, self.router if self.apart is None else self.apart.decode_router()
        loop = Loop(self, copy.deepcopy(routers), replica, traffic, requests)
        if why is not None:
            return loop.run("engine", why)
        return loop.run("fast", FAST.format(type(self.policy).__name__))

    def _policy(self, number: int) -> Scheduler:
        apart = self.apart
        special = apart is not None and apart.policy is not None and number < apart.num_prefill
        return apart.policy if special else self.policy

    def _step_time(self, number: int) -> StepTime:
        factor = self.slowdown.get(number, 1.0)
        if factor == 1.0:
            return self.step_time
        return Slower(self.step_time, factor) if callable(self.step_time) else (
            self.step_time * factor
        )  # fmt: skip

    def _check_replicas(self) -> None:
        if self.apart is not None and self.autoscaler is not None:
            raise ValueError(
                "an autoscaler handles only one kind of replica; leave out apart= or autoscaler="
            )
        if self.apart is not None and self.apart.num_prefill >= self.num_replicas:
            raise ValueError(
                f"num_prefill is {self.apart.num_prefill} of {self.num_replicas} replicas; leave "
                "at least one to decode"
            )
        for number, factor in self.slowdown.items():
            check_number(f"slowdown[{number}]", factor, "be above 0", lambda x: x > 0)
        for number in [*self.slowdown, *(failure.replica for failure in self.failures)]:
            if not 0 <= number < self.num_replicas:
                raise ValueError(
                    f"this fleet has no replica {number}; they are numbered 0 to "
                    f"{self.num_replicas - 1}"
                )
