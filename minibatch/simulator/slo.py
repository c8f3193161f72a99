"""Service level objectives: which requests were in time, and how many of them a second.

Everything here takes the columns of `mb.simulate` or the completions of `engine.run`. Columns have
no times of single tokens, so limits on ITL and deadlines of tokens need completions. Every request
that arrived counts: one that was refused, or never finished, has missed its SLO.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from ..core.completion import Completion
from .simulate import Simulated

Results = Simulated | Iterable[Completion]


@dataclass(frozen=True)
class SLO:
    """Limits in seconds; None is no limit.

    ttft: arrival to first token. tpot: the mean gap between tokens. itl: every single gap. An
    answer of one token has no gaps, and meets both.
    """

    ttft: float | None = None
    tpot: float | None = None
    itl: float | None = None

    def __post_init__(self) -> None:
        limits = self.ttft, self.tpot, self.itl
        if all(limit is None for limit in limits):
            raise ValueError("an SLO needs a limit: give ttft, tpot or itl, in seconds")
        if any(limit is not None and not limit > 0 for limit in limits):
            raise ValueError(f"{self} has a limit that no request can meet; give seconds above 0")

    def __str__(self) -> str:
        limits = {"TTFT": self.ttft, "TPOT": self.tpot, "ITL": self.itl}
        return ", ".join(f"{name} ≤ {s:g} s" for name, s in limits.items() if s is not None)

    def met(self, results: Results) -> np.ndarray:
        """Which requests were in time: bool [n], by arrival."""
        if isinstance(results, Simulated):
            return self._met_by_columns(results)
        return np.array([self._met_by(c) for c in _by_arrival(results)], dtype=bool)

    def _met_by_columns(self, results: Simulated) -> np.ndarray:
        if self.itl is not None:
            raise ValueError(_no_token_times("an ITL"))
        met = ~np.isnan(results.finish)
        if self.ttft is not None:
            met &= results.ttft <= self.ttft
        if self.tpot is not None:
            met &= (results.tpot <= self.tpot) | (results.output == 1)
        return met

    def _met_by(self, c: Completion) -> bool:
        if not c.was_served:
            return False
        gaps = np.diff(c.token_times)
        return (
            (self.ttft is None or c.ttft <= self.ttft)
            and (self.tpot is None or c.tpot is None or c.tpot <= self.tpot)
            and (self.itl is None or gaps.max(initial=0.0) <= self.itl)
        )


@dataclass(frozen=True)
class Attainment:
    """How many of the counted requests met the SLO.

    num_failed: refused, aborted or unfinished; they count as missed. num_cut: left out at each end.
    duration_s: the time in which the counted requests arrived.
    """

    slo: SLO
    num_met: int
    num_requests: int
    num_failed: int
    num_cut: int
    duration_s: float

    @property
    def share(self) -> float:
        """Of all counted requests, 0 to 1."""
        return self.num_met / self.num_requests

    @property
    def goodput(self) -> float:
        """Requests a second that met the SLO."""
        return self.num_met / self.duration_s

    def __str__(self) -> str:
        text = (
            f"{self.goodput:.3g} requests/s in time: {self.num_met:,} of {self.num_requests:,} met "
            f"{self.slo}; {self.num_failed:,} failed (a failed request counts as missed)"
        )
        if self.num_cut:
            text += (
                f"; the first {self.num_cut:,} and the last {self.num_cut:,} arrivals ran but "
                "are not counted (the server fills and empties)"
            )
        return text


def attainment(results: Results, slo: SLO, cut: float = 0.1) -> Attainment:
    """Count the requests that met the SLO, without warm-up and drain.

    cut: the share of arrivals left out at each end: the first find an empty server, and the last
    share it with nobody who came later. A run whose requests all arrive at once needs cut=0. The
    counted requests arrived between the first of them and the first one after them; without one,
    the run's end counts.
    """
    if not 0 <= cut < 0.5:
        raise ValueError(
            f"cut is {cut}; give the share of the run to leave out at each end, from 0 to below 0.5"
        )
    results = results if isinstance(results, Simulated) else _by_arrival(results)
    met, arrival, finish = slo.met(results), *_times(results)
    num_cut = int(cut * len(met))
    counted = slice(num_cut, len(met) - num_cut)
    if not len(met[counted]):
        raise ValueError("no requests to count; give a run with at least one")
    if num_cut:
        end = arrival[len(met) - num_cut]
    else:
        end = arrival[-1] if np.isnan(finish).all() else max(arrival[-1], np.nanmax(finish))
    duration = float(end - arrival[num_cut])
    if duration <= 0:
        raise ValueError(
            f"the {len(met[counted]):,} counted requests all arrived at {arrival[num_cut]:g} s, "
            "so a rate has no meaning; give cut=0 to count until the end"
        )
    return Attainment(
        slo=slo,
        num_met=int(met[counted].sum()),
        num_requests=len(met[counted]),
        num_failed=int(np.isnan(finish[counted]).sum()),
        num_cut=num_cut,
        duration_s=duration,
    )


def goodput(results: Results, slo: SLO, cut: float = 0.1) -> float:
    """Requests a second that met the SLO; `attainment` says what was counted."""
    return attainment(results, slo, cut).goodput


def tokens_in_time(completions: Iterable[Completion], ttft: float, tpot: float) -> np.ndarray:
    """The share of each answer's tokens that came by their deadline: float64 [n], by arrival.

    Token i, from 0 on, is due at arrival + ttft + i · tpot, so a fast start may pay for a pause
    later, as a reader would see it. A request without an answer has 0.
    (Fluidity; Agrawal et al., "Etalon", 2024, arXiv 2407.07000)
    """
    if isinstance(completions, Simulated):
        raise ValueError(_no_token_times("a deadline for each token"))
    shares = []
    for c in _by_arrival(completions):
        due = c.arrival_time + ttft + tpot * np.arange(len(c.token_times))
        in_time = np.array(c.token_times) <= due
        shares.append(float(in_time.mean()) if c.was_served and len(due) else 0.0)
    return np.array(shares)


def _by_arrival(completions: Iterable[Completion]) -> list[Completion]:
    return sorted(completions, key=lambda c: c.arrival_time)


def _times(results: Simulated | list[Completion]) -> tuple[np.ndarray, np.ndarray]:
    """Arrival, and finish or NaN."""
    if isinstance(results, Simulated):
        return results.arrival, results.finish
    finish = [c.finish_time if c.was_served else np.nan for c in results]
    return np.array([c.arrival_time for c in results]), np.array(finish, dtype=float)


def _no_token_times(what: str) -> str:
    return (
        f"{what} needs the time of each token, and mb.simulate keeps only the first and the last; "
        "run an engine and give its completions, or set a limit on tpot"
    )
