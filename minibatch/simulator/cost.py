"""What a decode step has to read and to compute, from the model's shapes alone; and what a machine
can read and compute at most. Their quotient is the roofline's promise; `measure` has the truth.

Source of the model: Williams, Waterman & Patterson, "Roofline", CACM 52(4), 2009.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..memory.kv_cache import bytes_per_token
from ..model.load import Model


@dataclass(slots=True, frozen=True)
class StepCost:
    """Bytes that one decode step must read, and floating-point operations it must do."""

    weight_bytes: int
    kv_bytes: int
    flops: int

    @property
    def intensity(self) -> float:
        """Operations for each byte read."""
        return self.flops / (self.weight_bytes + self.kv_bytes)


def decode_step(model: Model, batch_size: int, context: int) -> StepCost:
    """One token for each of `batch_size` sequences that have `context` tokens in the cache.

    Weights are read once, whatever the batch; K and V are read by each sequence for itself. Two
    operations (multiply, add) for each weight and token; in attention four for each query head,
    head dimension and token of context (two for q·k, two for the sum over V).
    """
    weights = num_weights(model)
    query_size = sum(model.hf.config.num_attention_heads * dim for _, dim in model.kv_shapes)
    return StepCost(
        weight_bytes=weights * model.dtype.itemsize,
        kv_bytes=batch_size * context * bytes_per_token(model.kv_shapes, model.dtype),
        flops=batch_size * (2 * weights + 4 * query_size * context),
    )


def num_weights(model: Model) -> int:
    """Numbers that every step multiplies with: all parameters, but an embedding table that is only
    looked up (one that also serves as the output layer counts, once)."""
    table, output = model.hf.get_input_embeddings(), model.hf.get_output_embeddings()
    only_looked_up = output is None or output.weight is not table.weight
    total = sum(parameter.numel() for parameter in model.hf.parameters())
    return total - (table.weight.numel() if only_looked_up else 0)


@dataclass(slots=True, frozen=True)
class Roof:
    """What a machine can do at most. source: where the figures are from, with their conditions."""

    name: str
    bytes_per_s: float
    flops_per_s: float
    source: str

    @property
    def ridge(self) -> float:
        """Operations per byte from which on computing, not reading, is what takes the time."""
        return self.flops_per_s / self.bytes_per_s

    def time(self, cost: StepCost) -> float:
        """Seconds the step takes at least."""
        reading = (cost.weight_bytes + cost.kv_bytes) / self.bytes_per_s
        return max(reading, cost.flops / self.flops_per_s)

    def flops_at(self, intensity: float) -> float:
        """The most operations a second at that many operations per byte."""
        return min(self.flops_per_s, intensity * self.bytes_per_s)


A100 = Roof("A100 40 GB", 1.555e12, 312e12, "data sheet: dense bfloat16 on tensor cores, HBM2")
H200 = Roof("H200", 4.8e12, 989e12, "data sheet: dense bfloat16 on tensor cores, HBM3e")
