"""`python -m minibatch bench overlap`: the same requests without and with overlapped scheduling.

A GPU executes the forward pass while the CPU plans the next step. On a CPU both share the cores.
The two engines take turns, so a change in the machine's speed affects both.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import median

from ..engine.engine import Engine
from ..model.load import load_model
from ..schedulers import Continuous
from .machine_facts import look
from .rounds import agents_workload
from .under_load import run

NUM_AGENTS, SLOTS, PROMPT_SCALE = 8, 8, 0.1


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0."""
    parser = argparse.ArgumentParser("python -m minibatch bench overlap", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="medians of N rounds")
    rounds = parser.parse_args(argv).rounds
    model, machine = load_model(), look()
    workload = agents_workload(model, "short prompts", NUM_AGENTS, PROMPT_SCALE)
    ways = {"no overlap": False, "overlap": True}
    engines = {name: Engine(model, Continuous(SLOTS), overlap=way) for name, way in ways.items()}
    for engine in engines.values():
        run(engine, workload)  # numba compiles here
    turns = [[run(engine, workload) for engine in engines.values()] for _ in range(rounds)]
    busy = f"other programs used {machine.busy_percent:.0f} % of the CPU"
    print(f"{machine.gpu or machine.cpu}, {machine.torch_threads} threads of PyTorch, {busy}")
    for name, seconds in zip(engines, zip(*turns, strict=True), strict=True):
        print(f"{name:10} {median(seconds):6.2f} s")
    gains = [plain / overlapped for plain, overlapped in turns]
    spread = f"({min(gains):.2f}–{max(gains):.2f})"
    print(f"speedup {median(gains):.2f}, median of {rounds} rounds {spread}")
    return 0
