"""The bytes and operations of a decode step, from the model's shapes; and a machine's limits.

Their quotient is the roofline: a lower bound for the time of a step. `measure` has measured times.
Source of the roofline: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009.

`CostModel` sums up measured times in a few numbers, from which a virtual clock takes the time of a
step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from ..core.plan import StepPlan

if TYPE_CHECKING:  # a cost model with known numbers needs neither arrays nor a model
    import numpy as np

    from ..model.load import Model


@dataclass(frozen=True)
class StepCost:
    """Bytes that one decode step must read, and floating-point operations it must do.

    attention_flops: the part of `flops` that works on K and V, not on weights.
    """

    weight_bytes: int
    kv_bytes: int
    flops: int
    attention_flops: int = 0

    @property
    def intensity(self) -> float:
        """Operations for each byte read."""
        return self.flops / (self.weight_bytes + self.kv_bytes)


def decode_step(model: Model, batch_size: int, context: int) -> StepCost:
    """One token for each of `batch_size` sequences that have `context` tokens in the cache.

    Weights are read once for the whole batch; each sequence reads its own K and V. Two
    operations (multiply, add) for each weight and token; in attention four for each query head,
    head dimension and token of context (two for q·k, two for the sum over V).
    """
    from ..memory.kv_cache import bytes_per_token

    weights = num_weights(model)
    query_size = sum(model.hf.config.num_attention_heads * dim for _, dim in model.kv_shapes)
    attention_flops = batch_size * 4 * query_size * context
    return StepCost(
        weight_bytes=weights * model.dtype.itemsize,
        kv_bytes=batch_size * context * bytes_per_token(model.kv_shapes, model.dtype),
        flops=batch_size * 2 * weights + attention_flops,
        attention_flops=attention_flops,
    )


def num_weights(model: Model) -> int:
    """Number of weights that every step multiplies with: all parameters, except an embedding table
    that is only looked up. A table that is also the output layer counts once."""
    table, output = model.hf.get_input_embeddings(), model.hf.get_output_embeddings()
    only_looked_up = output is None or output.weight is not table.weight
    total = sum(parameter.numel() for parameter in model.hf.parameters())
    return total - (table.weight.numel() if only_looked_up else 0)


@dataclass(frozen=True)
class Account:
    """The least seconds of a decode step, by cause.

    weights_s: reading the weights. arithmetic_s: how much longer multiplying with them takes than
    reading them; 0 for a few rows. kv_s: reading K and V, or computing with them if that takes
    longer.
    """

    weights_s: float
    arithmetic_s: float
    kv_s: float


@dataclass(frozen=True)
class Roof:
    """A machine's limits. source: the origin of the numbers, with their conditions."""

    name: str
    bytes_per_s: float
    flops_per_s: float
    source: str

    @property
    def ridge(self) -> float:
        """Operations per byte; above it, computing takes longer than reading."""
        return self.flops_per_s / self.bytes_per_s

    def time(self, cost: StepCost) -> float:
        """The least seconds of the step: reading or computing, whichever takes longer."""
        reading = (cost.weight_bytes + cost.kv_bytes) / self.bytes_per_s
        return max(reading, cost.flops / self.flops_per_s)

    def account(self, cost: StepCost) -> Account:
        """The same by cause, for a step that does one thing after another."""
        reading = cost.weight_bytes / self.bytes_per_s
        computing = (cost.flops - cost.attention_flops) / self.flops_per_s
        attending = cost.kv_bytes / self.bytes_per_s, cost.attention_flops / self.flops_per_s
        return Account(reading, max(0.0, computing - reading), max(attending))

    def rows_at_the_ridge(self, bytes_per_weight: int) -> float:
        """Rows from which multiplying with the weights takes longer than reading them. Each weight
        is read once, and multiplied and added once for each row."""
        return self.ridge * bytes_per_weight / 2

    def flops_at(self, intensity: float) -> float:
        """The largest possible operations a second at this many operations per byte."""
        return min(self.flops_per_s, intensity * self.bytes_per_s)


A100 = Roof("A100 40 GB", 1.555e12, 312e12, "data sheet: dense bfloat16 on tensor cores, HBM2")
H200 = Roof("H200", 4.8e12, 989e12, "data sheet: dense bfloat16 on tensor cores, HBM3e")


@dataclass(frozen=True)
class CostModel:
    """Seconds of a step, as a sum over its contents; call it with a plan.

        clock = VirtualClock(step_time=measure.cost_model(model))

    Every row reads the K and V of its whole context once. Each prompt token attends to itself and
    to all tokens before it: these pairs of tokens make a long prompt cost more than several short
    ones. source: the origin of the numbers, with their conditions.
    """

    seconds_per_step: float
    seconds_per_row: float
    seconds_per_prompt_token: float
    seconds_per_kv_byte: float
    kv_bytes_per_token: int
    source: str
    seconds_per_pair: float = 0.0

    def __call__(self, plan: StepPlan) -> float:
        return self.seconds(*contents(plan))

    def prompt(self, num_tokens: int) -> float:
        """Seconds of a step that computes one whole prompt and nothing else."""
        return self.seconds(1, num_tokens, num_tokens, num_tokens * (num_tokens + 1) // 2)

    def seconds(self, rows: int, prompt_tokens: int, context: int, pairs: int) -> float:
        """Seconds of a step with these contents. prompt_tokens: computed in prefill rows, padding
        included. context: tokens in the cache that all rows read. pairs: of a prompt token and a
        token that it attends to."""
        function, numbers = self.formula
        return function(numbers, rows, prompt_tokens, context, pairs)

    @property
    def formula(self) -> tuple[Callable[..., float], tuple[float, ...]]:
        """What `seconds` calls, and its first argument, for a simulator that compiles it."""
        per_cached_token = self.seconds_per_kv_byte * self.kv_bytes_per_token
        per_token = self.seconds_per_prompt_token, per_cached_token, self.seconds_per_pair
        return _linear, (self.seconds_per_step, self.seconds_per_row, *per_token)

    @classmethod
    def fit(
        cls,
        plans: Sequence[StepPlan],
        seconds: Sequence[float],
        kv_bytes_per_token: int,
        source: str,
    ) -> CostModel:
        """The model with the least squared error, each error as a share of the step's time.

        plans, seconds: of the measured steps. No coefficient is negative.
        """
        import numpy as np

        counts = np.array([(1, *contents(plan)) for plan in plans], dtype=float)
        counts[:, 3] *= kv_bytes_per_token
        times = np.array(seconds, dtype=float)
        costs = _nonnegative_least_squares(counts / times[:, None], np.ones(len(times)))
        *others, per_pair = (float(cost) for cost in costs)
        return cls(*others, kv_bytes_per_token, source, per_pair)


def _linear(
    numbers: tuple[float, ...], rows: int, prompt_tokens: int, context: int, pairs: int
) -> float:
    per_step, per_row, per_prompt_token, per_cached_token, per_pair = numbers
    return (
        per_step
        + per_row * rows
        + per_prompt_token * prompt_tokens
        + per_cached_token * context
        + per_pair * pairs
    )


def contents(plan: StepPlan) -> tuple[int, int, int, int]:
    """Of a plan: rows; prompt tokens computed, with padding and draft tokens, which cost the same;
    tokens in the cache that the rows read; and pairs of a prompt token and a token it attends
    to."""
    prompt_tokens = context = pairs = 0
    for row in plan.rows:
        seq_len = row.seq_len
        context += seq_len
        if row.draft:
            prompt_tokens += len(row.draft)
            pairs += len(row.draft) * (seq_len + 1)
        if row.kind == "prefill":
            prompt_tokens += row.num_tokens + row.num_padding_tokens
            pairs += row.num_tokens * (row.start + 1 + seq_len) // 2
            pairs += row.num_padding_tokens * seq_len
    return len(plan.rows), prompt_tokens, context, pairs


def _nonnegative_least_squares(matrix: np.ndarray, target: np.ndarray) -> np.ndarray:
    """x with no element below 0 for which `matrix @ x` is nearest to the target.

    Some elements are 0; the others are the plain least-squares solution with their columns only.
    There are so few columns that every choice of them is tried.
    """
    import numpy as np

    best, smallest = np.zeros(matrix.shape[1]), float(target @ target)
    for chosen in product((False, True), repeat=matrix.shape[1]):
        x = np.zeros(matrix.shape[1])
        x[list(chosen)] = np.linalg.lstsq(matrix[:, chosen], target, rcond=None)[0]
        error = target - matrix @ x
        if x.min() >= 0 and error @ error < smallest:
            best, smallest = x, float(error @ error)
    return best
