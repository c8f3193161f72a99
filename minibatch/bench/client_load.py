"""Whether the client kept up: a slow client makes a fast server look slow.

Three signs, each measured in the thread that reads the streams. Its share of one core: at 100 %
its numbers are its own. How late it comes to requests that are due, with or without a free
connection. How late a timer of its event loop fires: a token that arrives in this time is recorded
so much too late.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .load_report import Row

PROBE_S = 0.02  # a timer every 20 ms
MOST_SHARE = 0.8  # of one core
MOST_LATE_S = 0.02
MOST_OF_TTFT = 0.05  # of the median; less does not change what a table says


@dataclass
class ClientLoad:
    """What the client itself used and lost.

    cpu_s, wall_s: CPU time of the client's thread, and the run's duration. lags: by how many
    seconds each timer of its event loop was late.
    """

    cpu_s: float = 0.0
    wall_s: float = 0.0
    lags: list[float] = field(default_factory=list)

    @property
    def cpu_share(self) -> float:
        """Of one core, 0 to 1."""
        return self.cpu_s / self.wall_s if self.wall_s else 0.0

    @property
    def lag_s(self) -> float:
        """99 % of the loop's timers were at most this late; 0 without any."""
        return float(np.percentile(self.lags, 99)) if self.lags else 0.0

    async def __aenter__(self) -> ClientLoad:
        self._begin = time.thread_time(), time.perf_counter()
        self._probe = asyncio.get_running_loop().create_task(self._watch())
        return self

    async def __aexit__(self, *error: object) -> None:
        self.cpu_s = time.thread_time() - self._begin[0]
        self.wall_s = time.perf_counter() - self._begin[1]
        self._probe.cancel()

    async def _watch(self) -> None:
        while True:
            begin = time.perf_counter()
            await asyncio.sleep(PROBE_S)
            self.lags.append(time.perf_counter() - begin - PROBE_S)

    def warnings(self, rows: Sequence[Row]) -> list[str]:
        """A sentence for each sign that the client was the bottleneck."""
        found = []
        if self.cpu_share > MOST_SHARE:
            found.append(
                f"the client used {self.cpu_share:.0%} of one core, so these are the client's "
                "limits, not the server's; lower the rate, or run a client on another machine"
            )
        late = [row.ready - row.due for row in rows if row.ready is not None]
        ttft = [row.first_token - row.due for row in rows if row.first_token is not None]
        most = max(MOST_LATE_S, MOST_OF_TTFT * float(np.median(ttft or [0.0])))
        if late and np.percentile(late, 99) > most:
            number = sum(x > most for x in late)
            found.append(
                f"the client sent requests up to {1e3 * max(late):.0f} ms after they were due "
                f"({number:,} of {len(late):,} more than {1e3 * most:.0f} ms); their TTFT "
                "includes this"
            )
        if self.lag_s > MOST_LATE_S:
            found.append(
                f"the client's event loop was up to {1e3 * self.lag_s:.0f} ms late (p99), so "
                "token times are up to this much too late; another program may have used the "
                "processor"
            )
        return found
