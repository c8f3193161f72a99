"""`python -m minibatch bench graphs`: the engine's throughput with and without CUDA graphs.

Both serve the course's agents in turns. All requests arrive at once; decoding is greedy; each
answer has exactly the published length; prompts have a tenth of theirs, so that most steps decode.
Graphs save the time between launches: it matters for small models and batches, not for large ones.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import partial

import torch

from ..engine.engine import Engine
from ..model.load import DTYPES, Model, load_model
from ..schedulers import Continuous
from .alternating import alternating
from .rounds import agents_workload
from .stopwatch import conditions

BATCH_SIZES = (1, 8, 32)
AGENTS, SHARE = 50, 0.1  # number of requests, and share of the published prompt lengths
WITHOUT, WITH = "without graphs", "with graphs"


def main(argv: Sequence[str]) -> int:
    """Measure, print a table, and return 0; 2 where there is no GPU."""
    parser = argparse.ArgumentParser("python -m minibatch bench graphs", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="medians of N rounds")
    parser.add_argument("--model", metavar="NAME", help="hub id or folder; default: Wayfarer")
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    options = parser.parse_args(argv)
    if not torch.cuda.is_available():
        print("CUDA graphs are for an NVIDIA GPU, and torch sees none.", file=sys.stderr)
        return 2
    model = load_model(options.model, dtype=options.dtype)
    print(f"{conditions(model.device)}; medians of {options.rounds} rounds, tokens per second")
    for line in table(model, BATCH_SIZES, AGENTS, options.rounds):
        print(line, flush=True)
    return 0


def table(model: Model, batch_sizes: Sequence[int], num_agents: int, rounds: int) -> Iterator[str]:
    """Yields a line for each batch size, as soon as it is measured."""
    workload = agents_workload(model, "agents", num_agents, SHARE)
    yield f"batch {WITHOUT:>15} {WITH:>12}"
    for size in batch_sizes:
        runs = {}
        for name in (WITHOUT, WITH):
            engine = Engine(model, Continuous(size), cuda_graphs=name == WITH)
            engine.run(workload.requests[:size])  # compiles
            runs[name] = partial(engine.run, workload.requests)
        took = alternating(runs, rounds, model.device)
        without, found = (workload.num_output_tokens / took.median(name) for name in runs)
        times = took.times_as_long(WITHOUT, WITH)
        yield f"{size:5} {without:15,.0f} {found:12,.0f}   {times:.2f} x"
