"""Measurements for the lessons: the limits of this machine, and the parts of a step's time.

    this_machine  step_times  token_costs  cost_model    the quickest of some runs, taken in turns
    alternating                                          whole runs in turns; the median of each
    speculation_rates                                    tokens/s with and without draft tokens
    clock                                                the same kind of time, for an engine

On a CPU, all of them measure the CPU time of this process with one thread, which other programs
hardly change. Each result states this in its `conditions`, or its `source`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import torch

from ..attention import choose
from ..core.clock import ProcessClock, WallClock
from ..core.plan import Row, StepPlan
from ..core.request import Request, Sequence
from ..memory.blocks import BlockPool
from ..memory.kv_cache import bytes_per_token
from ..model.load import Model
from ..simulator.cost import CostModel, Roof
from .alternating import Comparison, alternating
from .speculating import SpeculationRate, speculation_rates
from .stopwatch import Stopwatch, conditions, counts_cpu_time, one_thread, quickest

__all__ = ["Comparison", "StepTime", "TokenCost", "alternating", "clock", "cost_model"]
__all__ += ["SpeculationRate", "speculation_rates"]
__all__ += ["one_thread", "step_times", "this_machine", "token_costs"]

BLOCK_SIZE = 16
MEGABYTE = 1 << 20
LINEAR = ("Linear", "Conv1D")  # GPT-2's linear layer is a Conv1D
# Steps for the fit of a cost model: rows, tokens in the cache of each, tokens that each computes.
# All contexts are short enough for attention in one thread.
DECODE_STEPS = ((1, 16), (1, 1000), (4, 250), (4, 900), (8, 64), (8, 400), (16, 16), (16, 200))
STEPS = [(rows, context, 1) for rows, context in DECODE_STEPS]
STEPS += [(1, 0, 16), (1, 0, 200), (1, 600, 200), (1, 0, 1300)]


@dataclass(frozen=True)
class StepTime:
    """Seconds of a decode step of `batch_size` rows with `context` tokens each, by cause.

    weights_s: in the layers that multiply with weights. attention_s: reading K and V.
    other_s: the rest: norms, activations, sampling, Python. conditions: the kind of time.
    """

    batch_size: int
    context: int
    weights_s: float
    attention_s: float
    other_s: float
    conditions: str = ""

    @property
    def total_s(self) -> float:
        return self.weights_s + self.attention_s + self.other_s

    @property
    def tokens_per_s(self) -> float:
        return self.batch_size / self.total_s


@dataclass(frozen=True)
class TokenCost:
    """Seconds for the next token after `length` tokens, with and without a KV cache."""

    length: int
    cached_s: float
    uncached_s: float
    conditions: str = ""


def this_machine(device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Roof:
    """Bandwidth and FLOP/s that PyTorch reaches: a sum over 256 MB, a product of 1,024 x 1,024.

    Takes about a second.
    """
    numbers = torch.ones(256 * MEGABYTE // dtype.itemsize, device=device, dtype=dtype)
    matrix = torch.ones(1024, 1024, device=device, dtype=dtype)
    watch = Stopwatch(numbers.device, cpu_time=True)
    reading, computing = quickest([numbers.sum, partial(torch.mm, matrix, matrix)], 4, watch)
    name = "this CPU, one thread" if numbers.device.type == "cpu" else "this GPU"
    source = f"measured: sum over 256 MB, product of 1,024 x 1,024, {_name(dtype)}; "
    source += conditions(numbers.device)
    return Roof(name, numbers.nbytes / reading["total"], 2 * 1024**3 / computing["total"], source)


def step_times(
    model: Model,
    batch_sizes: Iterable[int] = (1, 2, 4, 8, 16, 32, 64),
    contexts: Iterable[int] = (64, 1000),
    repeats: int = 3,
    progress: bool = False,
) -> list[StepTime]:
    """The times of decode steps of the model and of their parts, in `repeats` rounds.

    The contexts are not computed first: the cache holds zeros, which take as long to read.
    Raises ValueError if a context plus one token exceeds the model's context.
    """
    sizes = [(batch_size, context) for context in contexts for batch_size in batch_sizes]
    watch = Stopwatch(model.device, cpu_time=True)
    acts = _steps(model, [[(context, 1)] * batch_size for batch_size, context in sizes], watch)
    linear = [m for m in model.hf.modules() if type(m).__name__ in LINEAR]
    with watch.inside(linear, "weights"):
        found = quickest(acts, repeats, watch, "step", progress)
    times = []
    for size, parts in zip(sizes, found, strict=True):
        weights, attention = parts["weights"], parts["attention"]
        other = parts["total"] - weights - attention
        times.append(StepTime(*size, weights, attention, other, conditions(model.device)))
    return times


def token_costs(
    model: Model, lengths: Iterable[int], repeats: int = 2, progress: bool = False
) -> list[TokenCost]:
    """The cost of the next token after `length` tokens, with their K and V in a cache, and without.

    Without a cache, the model computes the whole sequence again, with its own forward pass.
    """
    lengths = list(lengths)

    @torch.inference_mode()
    def whole(ids: torch.Tensor) -> None:
        model.hf(ids, use_cache=False, logits_to_keep=1)

    watch = Stopwatch(model.device, cpu_time=True)
    acts = _steps(model, [[(length - 1, 1)] for length in lengths], watch)
    for length in lengths:
        acts.append(partial(whole, torch.zeros(1, length, dtype=torch.int64, device=model.device)))
    found = [parts["total"] for parts in quickest(acts, repeats, watch, "pass", progress)]
    pairs = zip(lengths, found[: len(lengths)], found[len(lengths) :], strict=True)
    return [TokenCost(*costs, conditions(model.device)) for costs in pairs]


def cost_model(model: Model) -> CostModel:
    """A model of the time of this model's steps on this machine, fitted to `STEPS` (1 to 3
    seconds).

    These are decode steps of several sizes and contexts, and prompts of several lengths.
    """
    shapes = []
    for num_rows, context, num_tokens in STEPS:
        context = min(context, model.max_model_len - 1)
        shapes.append([(context, min(num_tokens, model.max_model_len - context))] * num_rows)
    watch = Stopwatch(model.device, cpu_time=True)
    acts = _steps(model, shapes, watch)
    plans = [act.args[0] for act in acts]
    seconds = [parts["total"] for parts in quickest(acts, 2, watch)]
    source = (
        f"measured here: {conditions(model.device)}, {_name(model.dtype)}, decode steps of up to "
        f"{max(map(len, shapes))} rows, prompts of up to {shapes[-1][0][1]:,} tokens"
    )
    return CostModel.fit(plans, seconds, bytes_per_token(model.kv_shapes, model.dtype), source)


def clock(device: torch.device) -> ProcessClock | WallClock:
    """A clock for an engine whose steps are compared: CPU time with one thread, where available.

    CPU time adds up the time of all threads, so this sets PyTorch to one thread. Use the engine's
    default clock where arrivals are real.
    """
    if not counts_cpu_time(device):
        return WallClock()
    torch.set_num_threads(1)
    return ProcessClock()


Shape = list[tuple[int, int]]  # of a step: each row's tokens in the cache, and tokens to compute


def _steps(model: Model, shapes: list[Shape], watch: Stopwatch) -> list[partial]:
    """Engine steps of these shapes; each can be run any number of times: `runner.run(plan)`."""
    for context, num_tokens in {row for shape in shapes for row in shape}:
        if context + num_tokens > model.max_model_len:
            raise ValueError(
                f"{context:,} + {num_tokens:,} tokens are longer than this model's context of "
                f"{model.max_model_len:,}"
            )
    pools = [BlockPool(sum(map(_num_blocks, shape)), BLOCK_SIZE) for shape in shapes]
    plans = [
        StepPlan([_row(pool, *row) for row in shape])
        for pool, shape in zip(pools, shapes, strict=True)
    ]  # one at a time, so that they can use the same blocks
    pool = max(pools, key=lambda pool: pool.num_blocks)
    runner = model.runner(pool, watch.around("attention", choose("auto", model.device)))
    return [partial(runner.run, plan) for plan in plans]


def _row(pool: BlockPool, context: int, num_tokens: int) -> Row:
    """A sequence with `context` tokens in the cache, and `num_tokens` more to compute."""
    sequence = Sequence(
        request=Request([0] * (context + num_tokens)),
        request_id="",
        token_ids=[0] * (context + num_tokens),
        num_prompt_tokens=context or num_tokens,
        stop_token_ids=frozenset(),
        seed=0,
        arrival_time=0.0,
    )
    sequence.num_computed_tokens = context
    sequence.block_table = pool.allocate(sequence.num_new_blocks(num_tokens, pool.block_size))
    return Row(sequence, num_tokens)


def _num_blocks(row: tuple[int, int]) -> int:
    return -(-sum(row) // BLOCK_SIZE)


def _name(dtype: torch.dtype) -> str:
    return str(dtype).split(".")[-1]
