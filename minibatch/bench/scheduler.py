"""`python -m minibatch bench scheduler`: the cost of the engine itself, without a model.

The same traffic with more and more requests: if the cost of one grows with their number, something
in the loop visits all of them. Times are CPU time of this process, so other programs disturb them
little. Imported objects are hidden from the garbage collector first (`freeze_imports`): visiting
them again and again would be most of the cost, and does not belong to the engine.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import psutil

from ..core.clock import VirtualClock
from ..core.collector import freeze_imports
from ..core.request import Request
from ..engine.engine import Engine
from ..engine.trace import Trace
from ..schedulers import Continuous
from ..simulator.pretend import PretendModel

SIZES = (1_000, 10_000, 100_000)
SLOTS, ANSWER = 64, 8  # sequences in a batch; tokens of an answer, so rows of a request
TRACES = {"all steps kept": None, "no step kept": 0}
MOST_RATIO = 1.3


@dataclass(frozen=True)
class Cost:
    """Cost of a whole run, from the first `add` to the last answer. seconds: CPU time."""

    num_requests: int
    seconds: float
    megabytes: float

    @property
    def us_per_request(self) -> float:
        return self.seconds / self.num_requests * 1e6

    @property
    def us_per_row(self) -> float:
        return self.us_per_request / ANSWER


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0; 1 if the cost of a request grows with their number."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch bench scheduler",
        description="Measure the engine without a model; half a minute.",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="medians of N runs")
    rounds = parser.parse_args(argv).rounds
    freeze_imports()
    status = 0
    print(f"{SLOTS} slots, {ANSWER} tokens a request, Python {sys.version.split()[0]}\n")
    print(f"{'':16}{'requests':>10}{'us a request':>14}{'us a row':>10}{'memory':>10}")
    for name, keep in TRACES.items():
        costs = [_median([run(size, keep) for _ in range(rounds)]) for size in SIZES]
        for cost in costs:
            print(
                f"{name:16}{cost.num_requests:>10,}{cost.us_per_request:>14.1f}"
                f"{cost.us_per_row:>10.2f}{cost.megabytes:>7.0f} MB"
            )
            name = ""
        each = [cost.us_per_request for cost in costs]
        ratio = max(each) / min(each)
        verdict = "stays" if ratio <= MOST_RATIO else "grows"
        print(f"{'':16}the most expensive is {ratio:.2f} times the cheapest: the cost {verdict}\n")
        status |= ratio > MOST_RATIO
    return status


def run(num_requests: int, keep: int | None) -> Cost:
    """Serve that many requests, which all arrive at the start. keep: steps kept in the trace."""
    scheduler = Continuous(SLOTS)
    engine = Engine(
        PretendModel(),
        scheduler,
        num_blocks=SLOTS,
        clock=VirtualClock(),
        trace=Trace(keep=keep),
    )
    gc.collect()
    before, begin = psutil.Process().memory_info().rss, time.process_time()
    engine.run(Request([0], max_tokens=ANSWER) for _ in range(num_requests))
    seconds = time.process_time() - begin
    return Cost(num_requests, seconds, (psutil.Process().memory_info().rss - before) / 1e6)


def _median(costs: list[Cost]) -> Cost:
    return Cost(
        costs[0].num_requests,
        median(cost.seconds for cost in costs),
        max(cost.megabytes for cost in costs),
    )
