"""Stopwatches for the lessons: what this machine reaches, and where the time of a step goes.

Each figure is the quickest of some runs, the one that other programs at work disturbed least. On a
GPU the clock is read only once the GPU has finished.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps

import torch
from tqdm.auto import tqdm

from ..attention import AttentionFunction, choose
from ..core.plan import Row, StepPlan
from ..core.request import Request, Sequence
from ..memory.blocks import BlockPool
from ..model.load import Model
from ..simulator.cost import Roof

BLOCK_SIZE = 16
MEGABYTE = 1 << 20


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
    reading = min(_times(numbers.sum, 7, numbers.device))
    computing = min(_times(lambda: matrix @ matrix, 7, matrix.device))
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

        uncached = min(_times(whole, repeats, model.device))
        costs.append(TokenCost(length, _step_time(model, 1, length - 1, repeats).total_s, uncached))
    return costs


def _step_time(model: Model, batch_size: int, context: int, repeats: int) -> StepTime:
    if context + 1 > model.max_model_len:
        raise ValueError(
            f"a context of {context:,} tokens and one more: this model's holds "
            f"{model.max_model_len:,}"
        )
    pool = BlockPool(batch_size * -(-(context + 1) // BLOCK_SIZE), BLOCK_SIZE)
    watch = Stopwatch(model.device)
    runner = model.runner(pool, watch.around("attention", choose("auto", model.device)))
    plan = StepPlan([_decode_row(pool, context) for _ in range(batch_size)])
    parts = []
    with watch.over_weights(model):
        for _ in range(3):  # the first one compiles, the next fill caches
            runner.run(plan)
        for _ in range(repeats):
            watch.seconds.clear()
            with watch.part("total"):
                runner.run(plan)
            parts.append(dict(watch.seconds))
    best = min(parts, key=lambda part: part["total"])
    weights, attention = best["weights"], best["attention"]
    return StepTime(batch_size, context, weights, attention, best["total"] - weights - attention)


def _decode_row(pool: BlockPool, context: int) -> Row:
    """A sequence with that many tokens in the cache and one more to compute."""
    sequence = Sequence(
        request=Request([0] * (context + 1)),
        request_id="",
        token_ids=[0] * (context + 1),
        num_prompt_tokens=context + 1,
        stop_token_ids=frozenset(),
        seed=0,
        arrival_time=0.0,
    )
    sequence.num_computed_tokens = context
    sequence.block_table = pool.allocate(sequence.num_new_blocks(1, pool.block_size))
    return Row(sequence, 1)


class Stopwatch:
    """Adds up the seconds of named parts of a step."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.seconds: dict[str, float] = defaultdict(float)

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        begin = self.now()
        yield
        self.seconds[name] += self.now() - begin

    def around(self, name: str, function: AttentionFunction) -> AttentionFunction:
        """The same function, its time added to a part."""

        @wraps(function)  # with its attributes: they tell the runner how to go about it
        def timed(*arguments: object) -> torch.Tensor:
            with self.part(name):
                return function(*arguments)

        return timed

    @contextmanager
    def over_weights(self, model: Model) -> Iterator[None]:
        """While open, the time in the model's linear layers is added to "weights"."""
        began = 0.0

        def before(*_: object) -> None:
            nonlocal began
            began = self.now()

        def after(*_: object) -> None:
            self.seconds["weights"] += self.now() - began

        handles = []
        for module in model.hf.modules():
            if type(module).__name__ in ("Linear", "Conv1D"):  # GPT-2's linear layer is a Conv1D
                handles.append(module.register_forward_pre_hook(before))
                handles.append(module.register_forward_hook(after))
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()


def _times(act: Callable[[], object], repeats: int, device: torch.device) -> list[float]:
    """Seconds of each run, after one that is not counted."""
    watch = Stopwatch(device)
    times = []
    for _ in range(repeats + 1):
        begin = watch.now()
        act()
        times.append(watch.now() - begin)
    return times[1:]
