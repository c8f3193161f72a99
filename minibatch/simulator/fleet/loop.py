"""The loop of a fleet: a heap of events in order of time, and what becomes of each request.

    arrive ── dispatch ──network──> reach ── begin ⇄ end of a step ── publish ──> ended
                 ^ router's queue      └── lose: the replica has failed, try another
                 └── after a prefill elsewhere, with the time of the transfer

Events of one time come in this order: what a step brought, changes of replicas, requests, and then
the steps that begin, so that a step sees all requests of its time, as in one engine. What happens
to replicas is in scaling.py. A replica takes all steps at once up to the next event that could
concern it; the test that compares this with single steps is the one to run after a change.
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
from .columns import Columns
from .outcome import FleetRun, Life
from .replica import Replica
from .scaling import Scaling

if TYPE_CHECKING:
    from .fleet import Fleet

ENDS, CHANGES, COMES, BEGINS = range(4)  # of a step; of a replica; of a request; of a step
WHOLE, PREFILL, DECODE = range(3)  # what a request wants next


Event = tuple[float, int, int, Callable[..., None], tuple]  # time, kind, number, act, arguments


class Loop:
    """One run of a fleet. routers: for whole requests or prompts, and for what comes after."""

    def __init__(
        self,
        fleet: Fleet,
        routers: tuple[Router, Router],
        replica: Callable[[int], Replica],
        traffic: Traffic,
        requests: list[Request] | None,
    ) -> None:
        self.fleet, self.routers, self.traffic, self.requests = fleet, routers, traffic, requests
        self.replicas = [replica(number) for number in range(fleet.num_replicas)]
        self.columns, self.stage = Columns(traffic), [WHOLE] * len(traffic)
        self.queues: tuple[deque[int], deque[int]] = deque(), deque()  # by is_prefill
        self.queue_lengths, self.incoming = [(0.0, 0)], {}
        self.scaling = Scaling(self, replica)
        self._events: list[Event] = []  # of requests and replicas
        self._steps: list[Event] = []  # begins and ends of steps
        self._numbers = itertools.count()

    def run(self, path: str, why: str) -> FleetRun:
        """All events, until every request has ended."""
        self.scaling.begin()
        self._expect(0)
        time = 0.0
        while (self._events or self._steps) and self.columns.num_open:
            is_step = not self._events or (self._steps and self._steps[0] < self._events[0])
            time, _, _, act, arguments = heapq.heappop(self._steps if is_step else self._events)
            act(time, *arguments)
        for number in itertools.chain(*self.queues):
            self.columns.fail(number, "no replica")
        return self._outcome(time, path, why)

    def at(self, time: float, kind: int, act: Callable[..., None], *arguments: object) -> None:
        """Expect an event."""
        heap = self._steps if act in (self._begin, self._end) else self._events
        heapq.heappush(heap, (time, kind, next(self._numbers), act, arguments))

    @property
    def expects_nothing(self) -> bool:
        """Whether no event is left."""
        return not (self._events or self._steps)

    # Requests -----------------------------------------------------------------------------------

    def _expect(self, number: int) -> None:
        if number < len(self.traffic):
            self.at(float(self.traffic.arrival[number]), COMES, self._arrive, number)

    def _arrive(self, time: float, number: int) -> None:
        self._expect(number + 1)
        request = self.incoming[number] = self._seen_by_router(number)
        if (apart := self.fleet.apart) is not None and self.traffic.output[number] > 1:
            prefill, decode = (self._views(time, stage) for stage in (PREFILL, DECODE))
            if prefill and (not decode or apart.splits(request, prefill, decode)):
                self.stage[number] = PREFILL
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
        stage = self.stage[number]
        views, queue = self._views(time, stage, but), self.queues[stage == PREFILL]
        if not views or (queue and queue[0] != number):
            queue.append(number)
            self._note_queue(time)
            return
        router, request = self.routers[stage == DECODE], self.incoming[number]
        chosen = router.choose(request, views)
        view = next((view for view in views if view.replica == chosen), None)
        if view is None:
            raise ValueError(
                f"{type(router).__name__}.choose returned {chosen!r}; return one of the replicas "
                f"in the views: {[view.replica for view in views]}"
            )
        tokens = 0 if stage == DECODE else view.uncached_tokens(request)
        self.replicas[chosen].send(tokens)
        delay = self.fleet.router_s + self.fleet.network_s
        if stage == DECODE:
            delay = self.fleet.apart.transfer_s(int(self.traffic.prompt[number]))
        if delay:
            self.at(time + delay, COMES, self._reach, number, self.replicas[chosen], tokens)
        else:
            self._reach(time, number, self.replicas[chosen], tokens)

    def _views(self, time: float, stage: int, but: int = -1) -> list[ReplicaView]:
        seen, every = time - self.fleet.view_age_s, self.fleet.report_every_s
        seen = max(0.0, seen // every * every if every else seen)
        most, first, last = self.fleet.max_ongoing or math.inf, 0, len(self.replicas)
        if self.fleet.apart is not None:
            middle = self.fleet.apart.num_prefill
            first, last = (0, middle) if stage == PREFILL else (middle, last)
        return [
            replica.view(seen)
            for replica in self.replicas[first:last]
            if replica.was_up(seen)
            and not replica.is_draining
            and replica.num_outstanding < most
            and replica.number != but
        ]

    def _reach(self, time: float, number: int, replica: Replica, tokens: int) -> None:
        columns, stage = self.columns, self.stage[number]
        columns.replica[number], columns.reached[number] = replica.number, time
        prompt, output = int(self.traffic.prompt[number]), int(self.traffic.output[number])
        request = None if self.requests is None else self.requests[number]
        job = Job(number, prompt, 1 if stage == PREFILL else output, stage == DECODE, request)
        if not replica.reach(job, tokens, time):
            self.lose(time, number, replica, stage == DECODE)
        elif not replica.is_busy:
            self.at(time, BEGINS, self._begin, replica, replica.epoch)

    def lose(self, time: float, number: int, replica: Replica, has_token: bool) -> None:
        """Its replica has failed: try another one, if the client has no token yet, once."""
        self._returned(time, replica)
        if has_token or self.columns.retries[number]:
            self.columns.fail(number, f"replica {replica.number} failed")
        else:
            self.columns.retries[number] += 1
            back = time + self.fleet.network_s
            self.at(back, COMES, self._dispatch, number, replica.number)

    def _returned(self, time: float, replica: Replica) -> None:
        """The router will learn that one request fewer is at this replica."""
        self.at(time + self.fleet.network_s, ENDS, self._notice, replica)

    def _notice(self, time: float, replica: Replica) -> None:
        replica.num_outstanding -= 1
        self.scaling.drained(time, replica)
        self.empty_queues(time)

    def empty_queues(self, time: float) -> None:
        """Send what waits at the router, as far as replicas can take it."""
        for queue in self.queues:
            while queue and self._views(time, self.stage[queue[0]]):
                self._dispatch(time, queue[0])
                queue.popleft()
                self._note_queue(time)

    def _note_queue(self, time: float) -> None:
        self.queue_lengths.append((time, sum(map(len, self.queues))))

    # Steps --------------------------------------------------------------------------------------

    def _begin(self, time: float, replica: Replica, epoch: int) -> None:
        if replica.is_busy or replica.epoch != epoch:
            return
        end = replica.step(time, self._alone_until(replica))
        if end is None:
            self._publish(time, replica)
        else:
            replica.is_busy = True
            self.at(end, ENDS, self._end, replica, epoch)

    def _alone_until(self, replica: Replica) -> float:
        """Until when no event can concern this replica but the ends of its own steps."""
        fleet, apart = self.fleet, self.fleet.apart
        if (fleet.view_age_s or fleet.report_every_s) and fleet.pool["num_blocks"] is not None:
            return -math.inf  # each step has a report that a router may see later
        first = math.inf if any(self.queues) else 0  # of other replicas whose steps concern it
        if apart is not None and replica.number >= apart.num_prefill:
            first = max(first, apart.num_prefill)
        others = (event[0] for event in self._steps if event[4][0].number < first)
        return min(
            itertools.chain(others, (event[0] for event in self._events[:1])), default=math.inf
        )

    def _end(self, time: float, replica: Replica, epoch: int) -> None:
        if replica.epoch == epoch:
            replica.is_busy = False
            self._publish(time, replica)

    def _publish(self, time: float, replica: Replica) -> None:
        for ended in replica.publish(time):
            self._returned(time, replica)
            if self.stage[ended.number] == PREFILL and not ended.failure:
                self.columns.begin(ended, self.fleet.network_s)
                if self.fleet.apart.first_token_from == "decode":
                    self.columns.first_token[ended.number] = math.nan  # it travels with K and V
                self.columns.prefill_replica[ended.number] = replica.number
                self.stage[ended.number] = DECODE
                self.at(time, COMES, self._dispatch, ended.number)
            else:
                self.columns.end(ended, self.fleet.network_s)
        again = replica.backend.next_time(time)
        heads = self._events[:1] + self._steps[:1]
        if again == time and not any(event[0] == time for event in heads):
            self._begin(time, replica, replica.epoch)  # it would be the next event in any case
        elif again is not None:
            self.at(again, BEGINS, self._begin, replica, replica.epoch)

    def _outcome(self, time: float, path: str, why: str) -> FleetRun:
        lives = [Life(r.number, *life) for r in self.replicas for life in r.lives]
        lives += [Life(r.number, r.started, r.ready, time) for r in self.replicas if r.is_on]
        live = [replica.backend for replica in self.replicas if replica.is_up]
        return FleetRun(
            arrival=self.traffic.arrival,
            prompt=self.traffic.prompt,
            output=self.traffic.output,
            **self.columns.arrays(),
            num_steps=sum(part.num_steps for part in (*self.replicas, *live)),
            path=path,
            why=why,
            lives=tuple(sorted(lives, key=lambda life: (life.started, life.replica))),
            router_queue=np.array(self.queue_lengths),
            num_held_blocks=sum(backend.num_held_blocks for backend in live),
        )
