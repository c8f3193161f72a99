"""Synthetic traffic. Random numbers are drawn once: a control changes only what its label says."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..core.request import Request
from ..simulator.pretend import PretendModel

AT_ONCE = "all at once"


class Described(NamedTuple):
    """The settings. spread: sigma of the answers' lognormal lengths. rate: arrivals a second, or
    AT_ONCE. prompt: tokens of each prompt. common: the share of them that all prompts begin with.
    """

    spread: float
    rate: float | str
    prompt: int
    common: float = 0.0


class Traffic:
    """Poisson arrivals, lognormal lengths. mean_length: of the answers, in tokens."""

    def __init__(self, num_requests: int, mean_length: int) -> None:
        self.num_requests, self.mean_length = num_requests, mean_length
        random = np.random.default_rng(0)
        self._gaps = random.exponential(size=num_requests)
        self._deviations = random.standard_normal(num_requests)
        self._made: tuple[Described | None, list[Request]] = None, []

    def requests(self, described: Described) -> list[Request]:
        """The requests for these settings; their ids are numbers from 1."""
        if self._made[0] != described:  # checking long prompts takes time
            self._made = described, self._requests(*described)
        return self._made[1]

    def _requests(
        self, spread: float, rate: float | str, prompt: int, common: float
    ) -> list[Request]:
        lengths = self.mean_length * np.exp(spread * self._deviations - spread**2 / 2)
        arrivals = 0 * self._gaps if rate == AT_ONCE else np.cumsum(self._gaps) / rate
        num_common = round(common * prompt)
        return [
            Request(
                [0] * num_common + [number] * (prompt - num_common),
                max_tokens=max(1, round(length)),
                arrival_time=float(arrival),
                request_id=str(number),
            )
            for number, (length, arrival) in enumerate(zip(lengths, arrivals, strict=True), 1)
        ]

    def model(self) -> PretendModel:
        """A model whose vocabulary has the ids of these prompts."""
        model = PretendModel()
        model.vocab_size = self.num_requests + 1
        return model
