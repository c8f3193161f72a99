"""What became of each request in a fleet, as columns; and what each replica did, over time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..simulate import Simulated


class Life(NamedTuple):
    """A replica from the command to start it until it was stopped, or the run's end; seconds."""

    replica: int
    started: float
    ready: float
    ended: float


@dataclass(frozen=True, eq=False, repr=False)
class FleetRun(Simulated):
    """The columns of `mb.simulate`, as a client sees them (network included), and these [n]:

    replica: int64, where it finished, or failed; -1 if it never reached one. reached: float64, when
    it arrived there. prefill_replica: int64, where its prompt was computed, if elsewhere; else -1.
    cached: int64, prompt tokens found in the prefix cache. retries: int64. failure: str, "" for a
    request that finished, or why not. lives: of replicas. router_queue: (time, length) of the
    router's own queue, at every change. num_held_blocks: KV blocks that requests hold at the end.
    """

    replica: np.ndarray
    reached: np.ndarray
    prefill_replica: np.ndarray
    cached: np.ndarray
    retries: np.ndarray
    failure: np.ndarray
    lives: tuple[Life, ...]
    router_queue: np.ndarray
    num_held_blocks: int

    def __repr__(self) -> str:
        failed = int((self.failure != "").sum())
        return (
            f"FleetRun({len(self):,} requests on {self.num_replicas} replicas, {failed:,} failed, "
            f"{self.num_steps:,} steps, path={self.path!r})"
        )

    @property
    def num_replicas(self) -> int:
        """How many replicas there were in total."""
        return 1 + max(life.replica for life in self.lives)

    @property
    def hit_rate(self) -> float:
        """The share of all prompt tokens that were found in a prefix cache, 0 to 1."""
        served = self.failure == ""
        return float(self.cached[served].sum() / max(1, self.prompt[served].sum()))

    def ongoing(self, times: np.ndarray) -> np.ndarray:
        """Requests waiting and running on each replica: int64 [replicas, times]. Requests that
        failed there do not count."""
        counts = np.zeros((self.num_replicas, len(times)), np.int64)
        served = ~np.isnan(self.finish)
        for i in range(self.num_replicas):
            here = served & (self.replica == i)
            came, left = np.sort(self.reached[here]), np.sort(self.finish[here])
            counts[i] = np.searchsorted(came, times, "right") - np.searchsorted(
                left, times, "right"
            )
        return counts

    def hit_rates(self, edges: np.ndarray) -> np.ndarray:
        """The share of prompt tokens found on each replica, of requests that reached it between two
        edges, in seconds: float64 [replicas, edges - 1], NaN where none did."""
        rates = np.full((self.num_replicas, len(edges) - 1), np.nan)
        for i in range(self.num_replicas):
            here = self.replica == i
            asked, _ = np.histogram(self.reached[here], edges, weights=self.prompt[here])
            found, _ = np.histogram(self.reached[here], edges, weights=self.cached[here])
            rates[i, asked > 0] = found[asked > 0] / asked[asked > 0]
        return rates

    def served_by(self) -> np.ndarray:
        """How many requests finished on each replica: int64 [replicas]."""
        return np.bincount(self.replica[self.failure == ""], minlength=self.num_replicas)

    def num_on(self, times: np.ndarray) -> np.ndarray:
        """Replicas that are paid for, starting ones included: int64 [times]."""
        started = np.sort([life.started for life in self.lives])
        ended = np.sort([life.ended for life in self.lives])
        return np.searchsorted(started, times, "right") - np.searchsorted(ended, times, "right")

    @property
    def replica_seconds(self) -> float:
        """All replicas' time together, from the command to start to the end."""
        return float(sum(life.ended - life.started for life in self.lives))

    def cost(self, price_per_hour: float) -> float:
        """What the replicas cost, at this price per hour for one."""
        return self.replica_seconds / 3600 * price_per_hour

    def cost_per_million(self, price_per_hour: float) -> float:
        """The same for a million generated tokens. Tokens of failed requests are not counted."""
        tokens = int(self.output[self.failure == ""].sum())
        return self.cost(price_per_hour) / tokens * 1e6 if tokens else float("inf")
