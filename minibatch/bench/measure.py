"""Stopwatches for the lessons: what this machine reaches, and where the time of a step goes.

Each figure is the quickest of some runs, the one that other programs at work disturbed least.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from tqdm.auto import tqdm

from ..attention import choose
from ..core.plan import Row, StepPlan
from ..core.request import Request, Sequence
from ..memory.blocks import BlockPool
from ..memory.kv_cache import bytes_per_token
from ..model.load import Model
from ..simulator.cost import CostModel, Roof
from .stopwatch import Stopwatch, one_thread, times

BLOCK_SIZE = 16
MEGABYTE = 1 << 20
LINEAR = ("Linear", "Conv1D")  # GPT-2's linear layer is a Conv1D
# What a cost model is fitted to: rows, tokens in the cache of each, tokens that each computes. All
# rows' contexts are short enough for attention in one thread.
DECODE_STEPS = ((1, 16), (1, 1000), (4, 250), (4, 900), (8, 64), (8, 400), (16, 16), (16, 200))
STEPS = [(rows, context, 1) for rows, context in DECODE_STEPS]
STEPS += [(1, 0, 16), (1, 0, 200), (1, 600, 200), (1, 0, 1300)]


@dataclass(slots=True, frozen=True)
class StepTime:
    """A decode step of `batch_size` rows over `context` tokens each, in seconds, by cause.

    weights_s: in the layers that multiply with weights. attention_s: reading K and V.
    other_s: the rest: norms, activations, sampling, Python.
    """

    batch_size: int
    context: int
    weights_s: float
    attention_s: float
    other_s: float

    @property
    def total_s(self) -> float:
        return self.weights_s + self.attention_s + self.other_s

    @property
    def tokens_per_s(self) -> float:
        return self.batch_size / self.total_s


@dataclass(slots=True, frozen=True)
class TokenCost:
    """What the next token costs after `length` tokens, in seconds, with and without a KV cache."""

    length: int
    cached_s: float
    uncached_s: float


def this_machine(device: torch.device | str = "cpu", dtype: torch.dtype = torch.float32) -> Roof:
    """Bandwidth and FLOP/s that PyTorch reaches: a sum over 256 MB, a product of 1,024 x 1,024.

    Takes about a second.
    """
    numbers = torch.ones(256 * MEGABYTE // dtype.itemsize, device=device, dtype=dtype)
    matrix = torch.ones(1024, 1024, device=device, dtype=dtype)
    reading = min(times(numbers.sum, 7, numbers.device))
    computing = min(times(lambda: matrix @ matrix, 7, matrix.device))
    num_threads = torch.get_num_threads()
    threads = f"{num_threads} thread{'' if num_threads == 1 else 's'}"
    name = "this GPU" if numbers.device.type == "cuda" else f"this CPU, {threads}"
    source = f"measured: sum over 256 MB, product of 1,024 x 1,024, {str(dtype).split('.')[-1]}"
    return Roof(name, numbers.nbytes / reading, 2 * 1024**3 / computing, source)


def step_times(
    model: Model,
    batch_sizes: Iterable[int] = (1, 2, 4, 8, 16, 32, 64),
    contexts: Iterable[int] = (64, 1000),
    repeats: int = 5,
    progress: bool = False,
) -> list[StepTime]:
    """Decode steps of the model, timed and taken apart.

    The contexts are not computed first: the cache holds zeros, which takes as long to read.
    Raises ValueError if a context, and the token after it, is more than the model's context holds.
    """
    sizes = [(batch_size, context) for context in contexts for batch_size in batch_sizes]
    return [
        _step_time(model, *size, repeats)
        for size in tqdm(sizes, unit="size", disable=not progress, leave=False)
    ]


def token_costs(
    model: Model, lengths: Iterable[int], repeats: int = 3, progress: bool = False
) -> list[TokenCost]:
    """The next token after `length` tokens: with the K and V of all of them at hand, and without.

    Without, the model computes the whole sequence again, as its own forward pass does it.
    """
    costs = []
    for length in tqdm(list(lengths), unit="length", disable=not progress, leave=False):
        ids = torch.zeros(1, length, dtype=torch.int64, device=model.device)

        def whole(ids: torch.Tensor = ids) -> object:
            with torch.inference_mode():
                return model.hf(ids, use_cache=False, logits_to_keep=1)

        uncached = min(times(whole, repeats, model.device))
        costs.append(TokenCost(length, _step_time(model, 1, length - 1, repeats).total_s, uncached))
    return costs


def cost_model(model: Model) -> CostModel:
    """What this model's steps take on this machine, fitted to a handful of them; 1 to 3 seconds.

    Decode steps of several sizes and contexts, and prompts of several lengths. On a CPU it is the
    CPU time of one thread, which other programs at work hardly disturb.
    """
    shapes = []
    for num_rows, context, num_tokens in STEPS:
        context = min(context, model.max_model_len - 1)
        shapes.append([(context, min(num_tokens, model.max_model_len - context))] * num_rows)
    pools = [BlockPool(sum(map(_num_blocks, shape)), BLOCK_SIZE) for shape in shapes]
    plans = [
        StepPlan([_row(pool, *row) for row in shape])
        for pool, shape in zip(pools, shapes, strict=True)
    ]  # one at a time, so that they can use the same blocks
    pool = max(pools, key=lambda pool: pool.num_blocks)
    runner = model.runner(pool, choose("auto", model.device))
    watch = Stopwatch(model.device, cpu_time=True)
    seconds = [math.inf] * len(plans)
    with one_thread():
        runner.run(plans[0])  # compiles what has to be
        for _ in range(3):
            for i, plan in enumerate(plans):
                watch.reset()
                with watch.part("step"):
                    runner.run(plan)
                seconds[i] = min(seconds[i], watch.seconds["step"])
    where = (
        "CPU time of one thread"
        if model.device.type == "cpu"
        else "time until the GPU has finished"
    )
    source = (
        f"measured here: {where}, {str(model.dtype).split('.')[-1]}, decode steps of up to "
        f"{max(map(len, shapes))} rows, prompts of up to {shapes[-1][0][1]:,} tokens"
    )
    return CostModel.fit(plans, seconds, bytes_per_token(model.kv_shapes, model.dtype), source)


def _step_time(model: Model, batch_size: int, context: int, repeats: int) -> StepTime:
    if context + 1 > model.max_model_len:
        raise ValueError(
            f"a context of {context:,} tokens and one more: this model's holds "
            f"{model.max_model_len:,}"
        )
    pool = BlockPool(batch_size * _num_blocks((context, 1)), BLOCK_SIZE)
    watch = Stopwatch(model.device)
    runner = model.runner(pool, watch.around("attention", choose("auto", model.device)))
    plan = StepPlan([_row(pool, context, 1) for _ in range(batch_size)])
    parts = []
    linear = [m for m in model.hf.modules() if type(m).__name__ in LINEAR]
    with watch.inside(linear, "weights"):
        for _ in range(3):  # the first one compiles, the next fill caches
            runner.run(plan)
        for _ in range(repeats):
            watch.reset()
            with watch.part("total"):
                runner.run(plan)
            parts.append(dict(watch.seconds))
    best = min(parts, key=lambda part: part["total"])
    weights, attention = best["weights"], best["attention"]
    return StepTime(batch_size, context, weights, attention, best["total"] - weights - attention)


def _row(pool: BlockPool, context: int, num_tokens: int) -> Row:
    """A sequence with `context` tokens in the cache, and so many more to compute."""
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
