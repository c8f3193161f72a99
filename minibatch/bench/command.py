"""`python -m minibatch bench`: our four policies beside transformers, on this machine, in one run.

Every contender does the same work: the agents' prompts as token ids, and for each prompt exactly
the published number of output tokens, past any end token (`ignore_eos`). The result is useful
output tokens per second, from handing over the first prompt to receiving the last token.

`bench kernels` measures the attention kernels on a GPU instead (kernels.py), `bench scheduler` the
engine without a model (scheduler.py), `bench prefix` the prefix cache (prefix_caching.py), `bench
load` the engine beside another program (under_load.py), `bench overlap` overlapped scheduling
(overlapped.py), `bench peers` the server beside others (peers.py), and `bench graphs` CUDA
graphs, on a GPU (cuda_graphs.py).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from tqdm import tqdm

from ..model.load import Model, load_model
from . import cuda_graphs, kernels, overlapped, peers, prefix_caching, scheduler, under_load
from .bench_report import full_report, wrong_answers
from .contenders import BATCH_SIZE, CONTENDERS, Contender
from .machine_facts import Machine, look, usable_cpus
from .rounds import Results, Workload, agents_workload, measure

OTHERS = {
    "kernels": kernels,
    "scheduler": scheduler,
    "prefix": prefix_caching,
    "load": under_load,
    "overlap": overlapped,
    "peers": peers,
    "graphs": cuda_graphs,
}
WORKLOADS = {"short prompts": 0.1, "published prompts": 1.0}  # share of the published lengths
AGENTS, QUICK_AGENTS = 50, 20  # 20: static and continuous steps differ about as they do for 50
ROUNDS, QUICK_ROUNDS = 3, 1
INTERRUPTED = 130  # exit status, as shells have it


def main(argv: Sequence[str]) -> int:
    """Measure, print, and return 0; 1 if minibatch gave wrong tokens, 130 if interrupted."""
    if argv[:1] and argv[0] in OTHERS:
        return OTHERS[argv[0]].main(argv[1:])
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        contenders = _chosen(options.only)
        _set_threads(options.threads)
        if options.json and not options.json.parent.is_dir():
            raise ValueError(f"--json: there is no folder {options.json.parent}")
        machine = look()
        model = load_model(options.model)
        workloads = _workloads(model, options)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    num_rounds = options.rounds or (QUICK_ROUNDS if options.quick else ROUNDS)
    results = Results()
    status = 0
    try:
        with tqdm(file=sys.stderr, unit="run", leave=False) as bar:
            measure(model, workloads, contenders, num_rounds, results, bar)
    except KeyboardInterrupt:
        print("\nInterrupted. Measured so far:")
        status = INTERRUPTED
    print(full_report(model, machine, workloads, contenders, results))
    if options.json:
        options.json.write_text(_json(model, machine, workloads, results), encoding="utf-8")
    return 1 if wrong_answers(results) else status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m minibatch bench",
        description="Measure the four policies and transformers on this machine.",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help=f"{QUICK_AGENTS} agents and {QUICK_ROUNDS} round, not {AGENTS} and {ROUNDS}: "
        "about 2 minutes instead of 15",
    )
    parser.add_argument("--model", metavar="NAME", help="hub id or folder; default: Wayfarer")
    parser.add_argument("--threads", type=_positive_integer, metavar="N", help="CPU threads")
    parser.add_argument("--agents", type=_positive_integer, metavar="N", help="how many requests")
    parser.add_argument(
        "--rounds", type=_positive_integer, metavar="N", help="measurements of each contender"
    )
    parser.add_argument(
        "--scale",
        type=float,
        metavar="SHARE",
        help="one workload, with this share of the published prompt lengths, instead of two",
    )
    parser.add_argument(
        "--only", metavar="NAMES", help="only some, separated by commas: " + ", ".join(CONTENDERS)
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write every round to this file")
    return parser


def _workloads(model: Model, options: argparse.Namespace) -> list[Workload]:
    """The chosen workloads. One that exceeds the model's context is left out, with a message."""
    scale, default_agents = options.scale, QUICK_AGENTS if options.quick else AGENTS
    shares = WORKLOADS if scale is None else {f"prompts x {scale}": scale}
    workloads = []
    for name, share in shares.items():
        workload = agents_workload(model, name, options.agents or default_agents, share)
        if workload.longest <= model.max_model_len:
            workloads.append(workload)
        else:
            print(
                f"{name}: left out; its requests need {workload.longest:,} tokens of context, "
                f"and this model has {model.max_model_len:,}"
            )
    return workloads


def _positive_integer(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _chosen(names: str | None) -> list[Contender]:
    wanted = list(CONTENDERS) if names is None else [name.strip() for name in names.split(",")]
    unknown = [name for name in wanted if name not in CONTENDERS]
    if unknown:
        raise ValueError(f"--only: there is no {unknown[0]!r}; choose from {', '.join(CONTENDERS)}")
    return [contender for name, contender in CONTENDERS.items() if name in wanted]


def _set_threads(num_threads: int | None) -> None:
    if num_threads is None:
        return
    if num_threads > (most := usable_cpus()):
        raise ValueError(f"--threads {num_threads}: this process may run on {most} CPUs")
    torch.set_num_threads(num_threads)


def _json(model: Model, machine: Machine, workloads: list[Workload], results: Results) -> str:
    content = {
        "machine": asdict(machine),
        "model": {
            "name": model.hf.name_or_path,
            "num_parameters": model.hf.num_parameters(),
            "dtype": str(model.dtype),
            "device": str(model.device),
        },
        "batch_size": BATCH_SIZE,
        "workloads": [
            {
                "name": workload.name,
                "prompt_tokens": [len(request.prompt) for request in workload.requests],
                "output_tokens": [request.max_tokens for request in workload.requests],
            }
            for workload in workloads
        ],
        **asdict(results),
    }
    return json.dumps(content, indent=1) + "\n"
