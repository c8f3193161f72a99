"""One replica as the fleet sees it: what it was sent, and its reports, which reach the router late.

    sent ──network──> reached ── queue ── running ──> ended        the replica, now
                                                  report, report   the router sees an old one

Before changing this file: `view(time)` shows the replica as it was at that time, and is asked for
times in ascending order, so everything older than the shown report is dropped.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ...routers import ReplicaView
from .backends import Ended, EngineBackend, FastBackend, Job

Backend = FastBackend | EngineBackend


class Report(NamedTuple):
    """A replica after a step. num_left: requests that have left its queue. kv_use: 0 to 1.
    num_done_tokens: uncached prompt tokens of requests that have a first token, or ended."""

    time: float
    num_left: int = 0
    num_running: int = 0
    kv_use: float = 0.0
    num_done_tokens: int = 0


class Replica:
    """number: from 0. make: a new backend, when it starts. started, ready, ended: of its current
    life, seconds. lives: of all earlier ones. epoch: how often it has started or failed."""

    def __init__(
        self, number: int, make: Callable[[], Backend], max_running: int, block_size: int
    ) -> None:
        self.number, self.make, self.max_running = number, make, max_running
        self.block_size, self.backend, self.epoch = block_size, None, 0
        self.started, self.ready, self.is_draining, self.is_busy = math.nan, math.nan, False, False
        self.lives: list[tuple[float, float, float]] = []
        self.jobs: dict[int, list[int]] = {}  # not ended: uncached tokens, 0 after a first token
        self.num_outstanding = self.num_steps = 0  # outstanding: as far as the router knows
        self._num_sent = self._num_sent_tokens = 0
        self._num_reached = self._num_reached_tokens = self._num_done_tokens = 0
        self._num_seen = self._num_seen_tokens = 0  # of those that reached it, in the view's past
        self._past = 0  # requests that left the queues of earlier lives
        self._coming: deque[tuple[float, int]] = deque()
        self._reports = deque([Report(-math.inf)])
        self._ups: deque[tuple[float, bool]] = deque([(-math.inf, False)])
        self._cached: set[bytes] = set()
        self._cache_events: deque[tuple[float, bytes | None, bool]] = deque()
        self._view: tuple[object, ReplicaView | None] = None, None

    @property
    def is_up(self) -> bool:
        """Whether it can take a request now."""
        return self.backend is not None

    @property
    def is_on(self) -> bool:
        """Whether somebody pays for it: it starts, serves, or drains."""
        return not math.isnan(self.started)

    def start(self, time: float, seconds: float) -> None:
        """Begin to start; `go_up` follows so many seconds later."""
        self.started, self.ready, self.is_draining = time, time + seconds, False

    def go_up(self, time: float) -> None:
        """It has started, with an empty cache."""
        self.backend, self.epoch, self.ready = self.make(), self.epoch + 1, time
        self._ups.append((time, True))

    def go_down(self, time: float, is_off: bool) -> list[int]:
        """It stops, or fails; returns the requests that it had. is_off: nobody pays from now on."""
        lost, self.jobs = list(self.jobs), {}
        if self.backend is not None:
            self.num_steps += self.backend.num_steps
            self._ups.append((time, False))
        self.backend, self.is_busy, self.epoch = None, False, self.epoch + 1
        self._past, self._num_done_tokens = self._num_reached, self._num_reached_tokens
        self._reports.append(Report(time, self._past, 0, 0.0, self._num_done_tokens))
        self._cache_events.append((time, None, False))
        if is_off:
            self.lives.append((self.started, self.ready, time))
            self.started = self.ready = math.nan
        return lost

    def send(self, num_tokens: int) -> None:
        """The router has sent a request with so many uncached tokens."""
        self._num_sent += 1
        self._num_sent_tokens += num_tokens
        self.num_outstanding += 1

    def reach(self, job: Job, num_tokens: int, time: float) -> bool:
        """A request has come; returns whether the replica takes it."""
        if self.backend is None:
            self._num_sent -= 1
            self._num_sent_tokens -= num_tokens
            return False
        self.backend.add(job, time)
        self.jobs[job.number] = [num_tokens, 0]
        self._num_reached += 1
        self._num_reached_tokens += num_tokens
        self._coming.append((time, num_tokens))
        return True

    def step(self, time: float, until: float) -> float | None:
        """Begin a forward pass, and more until this time if nothing changes but the blocks in use;
        returns when the last one ends. The report before the last one is made at once."""
        end = self.backend.step(time, until)
        if end is not None and self.backend.earlier is not None:
            began, kv_use = self.backend.earlier
            self._reports.append(self._reports[-1]._replace(time=began, kv_use=kv_use))
        return end

    def publish(self, time: float) -> list[Ended]:
        """Report what the last step brought; returns what has ended."""
        backend, ended = self.backend, self.backend.ended()
        for number in backend.started():
            if job := self.jobs.get(number):
                self._num_done_tokens, job[0], job[1] = self._num_done_tokens + job[0], 0, 1
        for end in ended:
            self._num_done_tokens += self.jobs.pop(end.number)[0]
        left, running, kv_use = backend.state()
        self._reports.append(
            Report(time, self._past + left, running, kv_use, self._num_done_tokens)
        )
        if backend.changes:
            self._cache_events += [(time, *change) for change in backend.changes]
            backend.changes.clear()
        return ended

    @property
    def num_queue_tokens(self) -> int:
        """Uncached prompt tokens of its requests without a first token, now."""
        return self._num_reached_tokens - self._num_done_tokens

    @property
    def kv_use(self) -> float:
        """The share of KV blocks that requests hold, now."""
        return self._reports[-1].kv_use

    def was_up(self, time: float) -> bool:
        """Whether it could take requests at this time, which is not before the last one asked."""
        ups = self._ups
        while len(ups) > 1 and ups[1][0] <= time:
            ups.popleft()
        return ups[0][1]

    def view(self, time: float) -> ReplicaView:
        """The replica as it was at this time, which is not before the last one asked."""
        reports, coming, events = self._reports, self._coming, self._cache_events
        while coming and coming[0][0] <= time:
            self._num_seen += 1
            self._num_seen_tokens += coming.popleft()[1]
        while len(reports) > 1 and reports[1].time <= time:
            reports.popleft()
        while events and events[0][0] <= time:
            _, block, is_cached = events.popleft()
            if block is None:
                self._cached.clear()
            elif is_cached:
                self._cached.add(block)
            else:
                self._cached.discard(block)
        report = reports[0]
        key = report, self._num_seen, self._num_sent
        if self._view[0] != key:
            self._view = key, self._view_of(report)
        return self._view[1]

    def _view_of(self, report: Report) -> ReplicaView:
        return ReplicaView(
            self.number,
            report.num_running,
            self._num_seen - report.num_left,
            self.max_running,
            self._num_seen_tokens - report.num_done_tokens,
            report.kv_use,
            self._num_sent - self._num_seen,
            self._num_sent_tokens - self._num_seen_tokens,
            self._cached,
            self.block_size,
        )
