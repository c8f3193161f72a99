"""DistServe's comparison of 2024 at one size: prefill and decode apart, against mixed replicas.

Published: 7.4 × the requests at the same SLO, the best of several models, applications and SLOs,
with a parallelism of its own for each phase (Zhong et al., OSDI 2024, abstract); 2.1 × in its
smallest experiment (the authors' blog of March 2024): a model of 13B parameters on A100 80 GB,
prompts of 512 tokens, answers of 64, Poisson arrivals, P90 TTFT 0.4 s and P90 TPOT 0.04 s: 1.6
requests/s per GPU mixed, and 3.3 with two prefill replicas for one that decodes.

Here: that experiment. Mixed replicas compute prompts and decodes in separate passes, as vLLM did
then; a request must meet both limits, and 90 % must. Different from the paper: no tensor
parallelism, equal lengths instead of ShareGPT's, no overhead of scheduling or communication but the
transfer's, and time by data sheet. So the ratio's dependence on the SLO can be read, and the 7.4
cannot be confirmed or denied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...schedulers import Continuous
from ..capacity import bisection
from ..presets import A100_80, OPT_13B, Preset
from ..slo import SLO, attainment
from ..traffic import Lengths, poisson
from .apart import Apart
from .fleet import Fleet

MACHINE = Preset(OPT_13B, A100_80, mixes=False)
LENGTHS = Lengths.equal(512, 64)
PUBLISHED = {"smallest experiment": 3.3 / 1.6, "best of the paper": 7.4}
PAIRS = tuple(SLO(ttft, tpot) for ttft in (0.4, 0.2) for tpot in (0.04, 0.1))
NVLINK = 300e9  # bytes/s in one direction between two A100 (data sheet: 600 GB/s both ways)
NUM_REQUESTS, GOAL, TOLERANCE = 1_000, 0.9, 0.03  # few requests never fill a fleet


def mixed(num_replicas: int = 3, machine: Preset = MACHINE) -> Fleet:
    """Replicas that compute prompts and answers, whole prompts at a time."""
    return Fleet(Continuous(256), machine, num_replicas, num_blocks=machine.num_blocks)


def apart(
    num_prefill: int = 2,
    num_decode: int = 1,
    machine: Preset = MACHINE,
    bytes_per_s: float = NVLINK,
    first_token_from: Literal["prefill", "decode"] = "prefill",
) -> Fleet:
    """Replicas for prompts, one at a time, and others for answers. first_token_from: apart.py."""
    halves = Apart(
        num_prefill, machine.shape.kv_bytes_per_token, bytes_per_s, 1e-5, policy=Continuous(1),
        first_token_from=first_token_from,
    )  # fmt: skip
    return Fleet(
        Continuous(256), machine, num_prefill + num_decode, num_blocks=machine.num_blocks,
        apart=halves,
    )  # fmt: skip


def goodput(fleet: Fleet, slo: SLO, lengths: Lengths = LENGTHS, seed: int = 0) -> float:
    """The highest rate, requests per second and replica, at which 90 % meet the SLO. Seconds."""

    def meets(rate: float) -> bool:
        traffic = poisson(rate * fleet.num_replicas, NUM_REQUESTS, lengths, seed)
        return attainment(fleet.run(traffic), slo).share >= GOAL

    return bisection(meets, 2.0, 1.5, TOLERANCE, slo)


@dataclass(frozen=True)
class Pair:
    """Requests per second and GPU of both fleets, under one SLO."""

    slo: SLO
    mixed: float
    apart: float

    @property
    def ratio(self) -> float:
        """How many times the mixed fleet's goodput."""
        return self.apart / self.mixed

    def __str__(self) -> str:
        return (
            f"{self.slo}: mixed {self.mixed:.2f}, split {self.apart:.2f} requests/s per GPU, "
            f"factor {self.ratio:.2f}"
        )


def table(machine: Preset = MACHINE, pairs: tuple[SLO, ...] = PAIRS) -> list[Pair]:
    """Both fleets, of three GPUs each, under each SLO."""
    one, other = mixed(machine=machine), apart(machine=machine)
    return [Pair(slo, goodput(one, slo), goodput(other, slo)) for slo in pairs]
