"""What happens to a fleet's replicas: they start, fail, come back, drain, and are stopped."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from .autoscaling import Load
from .replica import Replica

if TYPE_CHECKING:
    from .loop import Loop

CHANGES, SEEN = 1, 0  # kinds of events in loop.py: of a replica; before them


class Scaling:
    """The replicas of one run. replica: makes another."""

    def __init__(self, loop: Loop, replica: Callable[[int], Replica]) -> None:
        self.loop, self.fleet, self._make = loop, loop.fleet, replica
        self._autoscaler = copy.deepcopy(loop.fleet.autoscaler)

    def begin(self) -> None:
        """All replicas are up at 0; failures are expected, and the autoscaler's questions."""
        for replica in self.loop.replicas:
            replica.start(0.0, 0.0)
            replica.go_up(0.0)
        for failure in self.fleet.failures:
            self.loop.at(failure.at_s, CHANGES, self._fail, failure.replica, failure.back_after_s)
        if self._autoscaler is not None:
            self.loop.at(0.0, CHANGES, self._ask)

    def drained(self, time: float, replica: Replica) -> None:
        """Stop a replica that drains and has no request left."""
        if replica.is_draining and not replica.num_outstanding:
            replica.go_down(time, is_off=True)
            replica.is_draining = False

    def _fail(self, time: float, number: int, back_after_s: float) -> None:
        replica = self.loop.replicas[number]
        if not replica.is_up:
            return
        jobs, stage = replica.jobs, self.loop.stage
        for job in replica.go_down(time, is_off=back_after_s == math.inf):
            self.loop.lose(time, job, replica, bool(jobs[job][1]) or stage[job] == 2)
        if back_after_s < math.inf:
            self.loop.at(time + back_after_s, CHANGES, self._go_up, replica, replica.epoch)

    def _go_up(self, time: float, replica: Replica, epoch: int) -> None:
        if replica.epoch != epoch:  # stopped while it started
            return
        replica.go_up(time)
        seen = time + self.fleet.view_age_s + self.fleet.report_every_s
        self.loop.at(seen, SEEN, self.loop.empty_queues)

    def _ask(self, time: float) -> None:
        load = self._load(time)
        wanted = self._autoscaler.want(load)
        for _ in range(wanted - load.num_replicas):
            self._start(time)
        for _ in range(load.num_replicas - wanted):
            self._stop(time)
        if wanted or not self.loop.expects_nothing:
            self.loop.at(time + self._autoscaler.interval_s, CHANGES, self._ask)

    def _load(self, time: float) -> Load:
        replicas = [r for r in self.loop.replicas if r.is_on and not r.is_draining]
        ready = [replica for replica in replicas if replica.is_up]
        queued = [number for queue in self.loop.queues for number in queue]
        return Load(
            now=time,
            num_replicas=len(replicas),
            num_ready=len(ready),
            num_ongoing=sum(r.num_outstanding for r in replicas) + len(queued),
            num_queue_tokens=sum(replica.num_queue_tokens for replica in ready)
            + sum(self.loop.incoming[number].num_tokens for number in queued),
            kv_use=sum(replica.kv_use for replica in ready) / max(1, len(ready)),
            max_running=self.fleet.policy.max_batch_size,
        )

    def _start(self, time: float) -> None:
        """Begin to start a replica: one that drains needs no time, one that is off comes next."""
        replicas = self.loop.replicas
        for replica in replicas:
            if replica.is_draining:
                replica.is_draining = False
                return
        replica = next((replica for replica in replicas if not replica.is_on), None)
        if replica is None:
            replica = self._make(len(replicas))
            replicas.append(replica)
        replica.start(time, self.fleet.start_s)
        self.loop.at(replica.ready, CHANGES, self._go_up, replica, replica.epoch)

    def _stop(self, time: float) -> None:
        """Stop a replica that starts, or let the one with the fewest requests drain."""
        replicas = [r for r in self.loop.replicas if r.is_on and not r.is_draining]
        replica = min(replicas, key=lambda r: (r.is_up, r.num_outstanding, -r.number))
        replica.is_draining = True
        self.drained(time, replica)
