"""`python -m minibatch bench load`: the engine alone, and beside a program that uses one core.

PyTorch waits for the slowest of its threads. So a program on one core can cost far more than one
core's share. This measures how much. The two conditions take turns, so a change in the machine's
speed affects both.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from statistics import median

from ..engine.engine import Engine
from ..model.load import load_model
from ..schedulers import Continuous
from .machine_facts import look
from .rounds import Workload, agents_workload

MOST_RATIO = 2.5
NUM_AGENTS, SLOTS, PROMPT_SCALE = 8, 8, 1.0
SETTLING = 0.5  # seconds, until the other program runs and its load shows


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0; 1 if the busy core costs more than a factor of MOST_RATIO."""
    parser = argparse.ArgumentParser(
        prog="python -m minibatch bench load",
        description="Measure the engine alone and beside one busy core; one or two minutes.",
    )
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="medians of N runs")
    rounds = parser.parse_args(argv).rounds
    model = load_model()
    engine = Engine(model, Continuous(SLOTS))
    workload = agents_workload(model, "published prompts", NUM_AGENTS, PROMPT_SCALE)
    run(engine, workload)  # numba compiles here
    alone, beside = [], []
    for _ in range(rounds):
        for seconds, condition in ((alone, nullcontext), (beside, busy_core)):
            with condition():
                time.sleep(SETTLING)
                seconds.append(run(engine, workload))
    ratio = median(beside) / median(alone)
    machine = look()
    print(f"{machine.cpu}, at most {machine.torch_threads} threads of PyTorch, {rounds} rounds")
    print(f"alone               {median(alone):6.2f} s")
    print(f"beside a busy core  {median(beside):6.2f} s: {ratio:.2f} times as long")
    print(f"at most {MOST_RATIO:g} times: {'yes' if ratio <= MOST_RATIO else 'no'}")
    return int(ratio > MOST_RATIO)


def run(engine: Engine, workload: Workload) -> float:
    """Seconds of one whole run."""
    engine.reset()
    start = time.perf_counter()
    engine.run(workload.requests)
    return time.perf_counter() - start


@contextmanager
def busy_core() -> Iterator[None]:
    """Another process computes all the time."""
    other = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        other.kill()
        other.wait()
