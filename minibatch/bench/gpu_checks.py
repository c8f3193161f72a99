"""What `python -m minibatch gpu` checks and measures besides pytest, each in a process of its own:

    python -m minibatch.bench.gpu_checks NAME FILE

A check yields rows: plain names and values. A row with a "fault" makes the check fail, and the next
row is still computed. A row goes to FILE, as a line of JSON, as soon as it is there; so a check
that its time limit ends leaves what it has. Every check takes the device: tests give the CPU.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from ..attention import choose
from ..attention.gather_sdpa import gather_sdpa_attention
from ..core.request import Request
from ..engine.engine import Engine
from ..model.load import Model, load_model
from ..schedulers import Continuous, Sequential
from . import kernels as bench_kernels
from .agreement import REFERENCE, Agreement
from .contenders import Contender, generate, minibatch
from .kernels import Case
from .rounds import agents_workload, serve, shortened
from .stopwatch import Stopwatch

Row = dict[str, object]

KERNELS = ("simple", "tiled", "split")
RAGGED = Case(batch=7, context=300, head_dim=128, group=4, longest=900)
TOLERANCES = {torch.float32: 2e-5, torch.bfloat16: 2 * 2**-8}  # of the result; it is below 1
AGENTS, PROMPTS = 16, 0.1  # number of requests, and share of the published prompt lengths
BATCH_SIZE = 32
LLAMA_1B = {  # the shape of Llama 3.2 1B
    **{"vocab_size": 128_256, "hidden_size": 2048, "intermediate_size": 8192, "head_dim": 64},
    **{"num_hidden_layers": 16, "num_attention_heads": 32, "num_key_value_heads": 8},
    **{"max_position_embeddings": 2048, "tie_word_embeddings": True},
}
PROMPT, ANSWERS, NUM_REQUESTS = 128, (32, 64, 96, 256), 48  # tokens; answers in turn


def main(argv: Sequence[str]) -> int:
    """Run one check on the GPU; 1 if a row has a fault. The last line printed sums it up."""
    name, file = argv
    rows = []
    with Path(file).open("w", encoding="utf-8") as out:
        for row in CHECKS[name](torch.device("cuda")):
            rows.append(row)
            print(json.dumps(row), file=out, flush=True)
    faults = [str(row["fault"]) for row in rows if "fault" in row]
    print(f"{len(faults)} of {len(rows)} failed: {faults[0]}" if faults else f"{len(rows)} results")
    return int(bool(faults))


def tried(row: Row, act: Callable[..., Row], *arguments: object) -> Row:
    """The row with what `act` returns, or with its error as a fault."""
    try:
        return row | act(*arguments)
    except Exception as error:  # the other rows are still wanted
        return row | {"fault": f"{type(error).__name__}: {error}"[:400]}


def driver(device: torch.device) -> Iterator[Row]:
    """The GPU as torch and numba see it, and what the doctor does not find fine."""
    yield tried({"what": f"torch, CUDA {torch.version.cuda}"}, _by_torch, device)
    yield tried({"what": "numba"}, _by_numba, device)
    doctor = [sys.executable, "-m", "minibatch", "doctor", "--json"]
    for finding in json.loads(subprocess.run(doctor, capture_output=True, text=True).stdout):
        if finding["status"] != "OK":
            yield {"what": f"doctor: {finding['topic']}", "found": finding["seen"]}


def _by_torch(device: torch.device) -> Row:
    gpu = torch.cuda.get_device_properties(device)
    parts = f"{gpu.total_memory / 1e9:.0f} GB, {gpu.multi_processor_count} multiprocessors"
    return {"found": f"{gpu.name}, {parts}, sm_{gpu.major}{gpu.minor}"}


def _by_numba(device: torch.device) -> Row:
    from ..attention.cuda.gpu import GPU  # here: where numba is missing, that is the fault

    return {"found": f"sm_{''.join(map(str, GPU(device).compute_capability))}"}


def kernels(
    device: torch.device, names: Sequence[str] = KERNELS, case: Case = RAGGED
) -> Iterator[Row]:
    """One launch of each kernel against float64: the largest error, and seconds with compiling."""
    for dtype, tolerance in TOLERANCES.items():
        given = bench_kernels.paged(case, device, dtype)
        for name in names:
            row = {"kernel": name, "dtype": str(dtype).removeprefix("torch.")}
            yield tried(row, _launched, name, given, tolerance)
        yield tried(row | {"kernel": "write_kv"}, _written, names[-1], given)


def _launched(name: str, given: tuple, tolerance: float) -> Row:
    *tensors, metadata, scale = given
    exact = gather_sdpa_attention(*(each.double() for each in tensors), metadata, scale)
    began = time.perf_counter()
    output = choose(name, exact.device)(*given)
    return _held(began, (output.double() - exact).abs().max().item(), tolerance)


def _written(name: str, given: tuple) -> Row:
    query, keys, values, metadata, _ = given
    new, began = query[:, : keys.shape[2]].contiguous(), time.perf_counter()
    choose(name, query.device).write_kv(keys, values, new, new, metadata)
    found = (cache.flatten(0, 1)[metadata.slot_mapping] for cache in (keys, values))
    return _held(began, max((each - new).abs().max().item() for each in found), 0.0)


def _held(began: float, error: float, tolerance: float) -> Row:
    row = {"largest_error": error, "seconds": time.perf_counter() - began}
    return row if error <= tolerance else row | {"fault": f"an error above {tolerance:.1e}"}


def tokens(device: torch.device, num_agents: int = AGENTS) -> Iterator[Row]:
    """Wayfarer's answers in float32 on this device against those on the CPU."""
    reference, model = (load_model("wayfarer", device=each) for each in ("cpu", device))
    requests = agents_workload(reference, "agents", num_agents, PROMPTS).requests
    agreement = Agreement(reference, requests)
    agreement.compare(REFERENCE, _answers(reference, requests))
    for graphs in (False, True):
        yield tried({"cuda_graphs": graphs}, _compared, agreement, model, graphs)


def _answers(model: Model, requests: list[Request], graphs: bool = False) -> list[list[int]]:
    engine = Engine(model, Continuous(8), cuda_graphs=graphs)
    return [completion.token_ids for completion in engine.run(requests)]


def _compared(agreement: Agreement, model: Model, graphs: bool) -> Row:
    answers = _answers(model, agreement.requests, graphs)
    found = agreement.compare("minibatch", answers)
    row = {"requests": len(answers), "same": len(answers) - len(found)}
    row["largest_gap"] = max((abs(each.gap) for each in found), default=0.0)
    if all(each.is_tie for each in found):
        return row
    return row | {"fault": f"{len(found)} answers differ from the CPU's, and not by a tie"}


def bench(device: torch.device) -> Iterator[Row]:
    """`bench kernels --quick`: each contender's share of a copy's bandwidth, and its time."""
    copy = bench_kernels.copy_bandwidth()
    yield {"shape": "copy of 1 GiB", "ours": f"{copy / 1e12:.2f} TB/s"}
    for case in bench_kernels.cases(quick=True):
        took = bench_kernels.seconds_of_each(case)
        shape = f"{case.batch} x {case.context:,}" + f", {case.longest:,}" * (case.longest > 0)
        row = {"shape": shape, "head_dim": case.head_dim, "group": case.group}
        row |= {name: bench_kernels.share(case, each, copy) for name, each in took.items()}
        yield row | {"fault": took["ours"]} if isinstance(took["ours"], str) else row


def throughput(device: torch.device) -> Iterator[Row]:
    """Tokens per second of the engine and of `generate`: Wayfarer, and a random Llama of 1.2 B."""
    wayfarer = load_model("wayfarer", device=device)
    agents = agents_workload(wayfarer, "agents", 50, PROMPTS).requests
    yield from served("Wayfarer, float32", wayfarer, agents)
    yield from served("Llama 1.2 B, bfloat16", random_llama(device, **LLAMA_1B), fixed_lengths())


def random_llama(device: torch.device, **config: object) -> Model:
    """A Llama of this shape with random weights, in bfloat16."""
    with device:
        hf = LlamaForCausalLM(LlamaConfig(**config))
    return load_model(hf, dtype="bfloat16")


def fixed_lengths(
    number: int = NUM_REQUESTS, prompt: int = PROMPT, answers: Sequence[int] = ANSWERS
) -> list[Request]:
    """Requests with prompts of `prompt` tokens, all different, and answers of these lengths."""
    prompts = [[(7 * i + 31 * k) % 1000 for k in range(prompt)] for i in range(number)]
    lengths = [answers[i % len(answers)] for i in range(number)]
    pairs = zip(prompts, lengths, strict=True)
    return [Request(each, max_tokens=length, ignore_eos=True) for each, length in pairs]


def served(
    title: str, model: Model, requests: list[Request], batch_size: int = BATCH_SIZE
) -> Iterator[Row]:
    """Tokens per second of each way to serve the requests, after a short run; and how many answers
    equal those of the first way. (In bfloat16, some may differ.)"""
    continuous = partial(minibatch, make_scheduler=partial(Continuous, batch_size))
    ways = {
        "one by one": partial(minibatch, make_scheduler=Sequential),
        "generate, padded": partial(generate, batch_size=batch_size),
        "continuous": continuous,
        "continuous, CUDA graphs": partial(continuous, cuda_graphs=True),
        "continuous, overlap": partial(continuous, overlap=True),
        "continuous, both": partial(continuous, cuda_graphs=True, overlap=True),
    }
    expected: list[list[int]] = []
    for way, prepare in ways.items():
        contender = Contender(way, way, prepare)
        yield tried({"model": title, "way": way}, _served, model, requests, contender, expected)


def _served(
    model: Model, requests: list[Request], contender: Contender, expected: list[list[int]]
) -> Row:
    watch, num_tokens = Stopwatch(model.device), sum(each.max_tokens for each in requests)
    serve(model, shortened(requests), contender, watch)
    answers = serve(model, requests, contender, watch)
    expected.extend(() if expected else answers)
    same = sum(one == other for one, other in zip(answers, expected, strict=True))
    seconds = watch.seconds["total"]
    row = {"tokens_per_s": num_tokens / seconds, "seconds": seconds, "tokens": num_tokens}
    return row | {"same": f"{same}/{len(requests)}"}


CHECKS = {check.__name__: check for check in (driver, kernels, tokens, bench, throughput)}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
