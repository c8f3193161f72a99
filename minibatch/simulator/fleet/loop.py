"""The loop of a fleet: a heap of events in order of time, and what each does.

Events of one time come in this order: what a step brought, failures and starts, requests, and then
the steps that begin, so that a step sees all requests of its time, as in one engine.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from ...core.request import Request
from ...routers import Incoming, ReplicaView, Router
from ..traffic import Traffic
from .backends import Job
from .outcome import FleetRun, Life
from .replica import Replica

if TYPE_CHECKING:
    from .fleet import Fleet

ENDS, CHANGES, COMES, BEGINS = range(4)  # of a step; of the fleet; of a request; of a step
NEVER = math.nan


class Loop:
    """One run of a fleet."""

    def __init__(
        self,
        fleet: Fleet,
        router: Router,
        replica: Callable[[int], Replica],
        traffic: Traffic,
        requests: list[Request] | None,
    ) -> None:
        self.fleet, self.router, self.traffic, self.requests = fleet, router, traffic, requests
        self.replicas = [replica(number) for number in range(fleet.num_replicas)]
        self.queue: deque[int] = deque()  # requests that wait at the router
        self.queue_lengths = [(0.0, 0)]
        self.num_open, n = len(traffic), len(traffic)
        self.incoming: dict[int, Incoming] = {}
        self.first_scheduled, self.first_token, self.finish, self.reached = (
            [NEVER] * n for _ in range(4)
        )
        self.preemptions, self.cached, self.retries = [0] * n, [0] * n, [0] * n
        self.replica, self.prefill_replica, self.failure = [-1] * n, [-1] * n, [""] * n
        self._heap: list[tuple[float, int, int, Callable[..., None], tuple]] = []
        self._numbers = itertools.count()

    def run(self, path: str, why: str) -> FleetRun:
        """All events, until every request has ended."""
        for replica in self.replicas:
            replica.start(0.0, 0.0)
            replica.go_up(0.0)
        for failure in self.fleet.failures:
            self.at(failure.at_s, CHANGES, self._fail, failure.replica, failure.back_after_s)
        self._expect(0)
        time = 0.0
        while self._heap and self.num_open:
            time, _, _, act, arguments = heapq.heappop(self._heap)
            act(time, *arguments)
        for number in self.queue:
            self.failure[number] = "no replica"
        return self._outcome(time, path, why)

    def at(self, time: float, kind: int, act: Callable[..., None], *arguments: object) -> None:
        """Expect an event."""
        heapq.heappush(self._heap, (time, kind, next(self._numbers), act, arguments))

    # Requests -----------------------------------------------------------------------------------

    def _expect(self, number: int) -> None:
        if number < len(self.traffic):
            self.at(float(self.traffic.arrival[number]), COMES, self._arrive, number)

    def _arrive(self, time: float, number: int) -> None:
        self._expect(number + 1)
        self.incoming[number] = self._seen_by_router(number)
        self._dispatch(time, number)

    def _seen_by_router(self, number: int) -> Incoming:
        if self.requests is None:
            return Incoming(int(self.traffic.prompt[number]))
        request = self.requests[number]
        if self.fleet.prefix_caching:
            return Incoming.of(request, self.fleet.pool["block_size"])
        return Incoming(len(request.prompt), (), request.client)

    def _dispatch(self, time: float, number: int, but: int = -1) -> None:
        """Send a request to a replica, or let it wait if none can take it. but: not to this one."""
        views = self._views(time, but)
        if not views or (self.queue and self.queue[0] != number):
            self.queue.append(number)
            self.queue_lengths.append((time, len(self.queue)))
            return
        request = self.incoming[number]
        chosen = self.router.choose(request, views)
        view = next((view for view in views if view.replica == chosen), None)
        if view is None:
            raise ValueError(
                f"{type(self.router).__name__}.choose returned {chosen!r}; the views are of "
                f"replicas {[view.replica for view in views]}"
            )
        tokens, replica = view.uncached_tokens(request), self.replicas[chosen]
        replica.send(tokens)
        delay = self.fleet.router_s + self.fleet.network_s
        if delay:
            self.at(time + delay, COMES, self._reach, number, replica, tokens)
        else:
            self._reach(time, number, replica, tokens)

    def _views(self, time: float, but: int) -> list[ReplicaView]:
        seen, every = time - self.fleet.view_age_s, self.fleet.report_every_s
        if every:
            seen = seen // every * every
        most = self.fleet.max_ongoing or math.inf
        return [
            replica.view(seen)
            for replica in self.replicas
            if replica.was_up(seen if seen > 0 else 0.0)
            and not replica.is_draining
            and replica.num_outstanding < most
            and replica.number != but
        ]

    def _reach(self, time: float, number: int, replica: Replica, tokens: int) -> None:
        self.replica[number], self.reached[number] = replica.number, time
        traffic = self.traffic
        prompt, output = int(traffic.prompt[number]), int(traffic.output[number])
        request = None if self.requests is None else self.requests[number]
        if replica.reach(Job(number, prompt, output, False, request), tokens, time):
            if not replica.is_busy:
                self.at(time, BEGINS, self._begin, replica, replica.epoch)
        else:
            self._lose(time, number, replica, False)

    def _lose(self, time: float, number: int, replica: Replica, has_token: bool) -> None:
        """Its replica has failed: try another one, if the client has no token yet, once."""
        self._returned(time, replica)
        if has_token or self.retries[number]:
            self.failure[number] = f"replica {replica.number} failed"
            self.num_open -= 1
        else:
            self.retries[number] += 1
            back = time + self.fleet.network_s
            self.at(back, COMES, self._dispatch, number, replica.number)

    def _returned(self, time: float, replica: Replica) -> None:
        """The router learns that one request fewer is at this replica."""
        self.at(time + self.fleet.network_s, ENDS, self._notice, replica)

    def _notice(self, time: float, replica: Replica) -> None:
        replica.num_outstanding -= 1
        self._empty_queue(time)

    def _empty_queue(self, time: float) -> None:
        """Send what waits at the router, as far as replicas can take it."""
        while self.queue and self._views(time, -1):
            number = self.queue[0]
            self._dispatch(time, number)
            self.queue.popleft()
            self.queue_lengths.append((time, len(self.queue)))

    # Steps --------------------------------------------------------------------------------------

    def _begin(self, time: float, replica: Replica, epoch: int) -> None:
        if replica.is_busy or replica.epoch != epoch:
            return
        end = replica.backend.step(time)
        if end is not None:
            replica.is_busy = True
            self.at(end, ENDS, self._end, replica, epoch)
        else:
            self._publish(time, replica)

    def _end(self, time: float, replica: Replica, epoch: int) -> None:
        if replica.epoch == epoch:
            replica.is_busy = False
            self._publish(time, replica)

    def _publish(self, time: float, replica: Replica) -> None:
        for ended in replica.publish(time):
            number, self.failure[ended.number] = ended.number, ended.failure
            self.first_scheduled[number] = ended.first_scheduled
            self.first_token[number] = ended.first_token + self.fleet.network_s
            self.finish[number] = ended.finish + self.fleet.network_s
            self.preemptions[number] = ended.preemptions
            self.cached[number] = ended.cached
            self.num_open -= 1
            self._returned(time, replica)
        if (again := replica.backend.next_time(time)) is not None:
            self.at(again, BEGINS, self._begin, replica, replica.epoch)

    # Replicas -----------------------------------------------------------------------------------

    def _fail(self, time: float, number: int, back_after_s: float) -> None:
        replica = self.replicas[number]
        if not replica.is_up:
            return
        jobs = replica.jobs
        for job in replica.go_down(time, is_off=False):
            self._lose(time, job, replica, bool(jobs[job][1]))
        if back_after_s < math.inf:
            self.at(time + back_after_s, CHANGES, self._go_up, replica)

    def _go_up(self, time: float, replica: Replica) -> None:
        replica.go_up(time)
        seen = time + self.fleet.view_age_s + self.fleet.report_every_s
        self.at(seen, ENDS, self._empty_queue)

    # The end ------------------------------------------------------------------------------------

    def _outcome(self, time: float, path: str, why: str) -> FleetRun:
        held = num_steps = 0
        lives = []
        for replica in self.replicas:
            lives += [Life(replica.number, *life) for life in replica.lives]
            if replica.is_on:
                lives.append(Life(replica.number, replica.started, replica.ready, time))
            num_steps += replica.num_steps
            if replica.is_up:
                held += replica.backend.num_held_blocks
                num_steps += replica.backend.num_steps
        floats = {
            name: np.array(getattr(self, name), np.float64)
            for name in ("first_scheduled", "first_token", "finish", "reached")
        }
        integers = {
            name: np.array(getattr(self, name), np.int64)
            for name in ("preemptions", "replica", "prefill_replica", "cached", "retries")
        }
        return FleetRun(
            arrival=self.traffic.arrival,
            prompt=self.traffic.prompt,
            output=self.traffic.output,
            **floats,
            **integers,
            failure=np.array(self.failure, dtype=object),
            num_steps=num_steps,
            path=path,
            why=why,
            lives=tuple(lives),
            router_queue=np.array(self.queue_lengths),
            num_held_blocks=held,
        )
