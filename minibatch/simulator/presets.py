"""GPUs and models by their data sheets: how many tokens fit, and how long a step takes.

    preset = mb.presets.Preset(mb.presets.OPT_13B, mb.presets.A100_40)
    mb.simulate(policy, traffic, preset, num_blocks=preset.num_blocks)

A step reads its bytes or computes its operations, whichever takes longer. `efficiency` is the share
of the data sheet's limits that real kernels reach. It is one number for all GPUs and models, known
only as 0.6 to 0.9, and never tuned to a result. Communication between GPUs, the scheduler's time
and sampling are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..core.plan import StepPlan
from .cost import A100, H200, Roof, StepCost, contents

GB = 10**9
EFFICIENCIES = (0.6, 0.75, 0.9)
USABLE = 0.9  # of the memory: vLLM's gpu_memory_utilization in 2023


@dataclass(frozen=True)
class GPU:
    """The roof of one GPU, and its memory in bytes."""

    roof: Roof
    memory: int


@dataclass(frozen=True)
class Shape:
    """A model as memory and steps see it, with 16-bit numbers.

    parameters: all in memory. only_looked_up: of these, in tables that no step multiplies with; an
    embedding table that is also the output layer is not one. query_size, kv_size: heads × head
    dimension. source: of these numbers.
    """

    name: str
    parameters: int
    only_looked_up: int
    layers: int
    query_size: int
    kv_size: int
    source: str

    @property
    def memory(self) -> int:
        """Bytes of all parameters."""
        return 2 * self.parameters

    @property
    def weights(self) -> int:
        """Numbers that every step multiplies with."""
        return self.parameters - self.only_looked_up

    @property
    def kv_bytes_per_token(self) -> int:
        """Bytes of K and V of one token, in all layers."""
        return 2 * self.layers * self.kv_size * 2


@dataclass(frozen=True)
class Preset:
    """A model on `num_gpus` GPUs of one kind. It is a step time for `mb.simulate` and for clocks.

    stages: of a pipeline. A batch passes through the stages one after the other, so a step has the
    bandwidth of num_gpus / stages GPUs. A real pipeline works on other batches in the meantime;
    that is not simulated.
    """

    shape: Shape
    gpu: GPU
    num_gpus: int = 1
    efficiency: float = 0.75
    stages: int = 1

    def __post_init__(self) -> None:
        if not 0 < self.efficiency <= 1:
            raise ValueError(
                f"efficiency is {self.efficiency}; give a share of the data sheet's limits, above "
                f"0 and at most 1 (kernels reach {EFFICIENCIES[0]} to {EFFICIENCIES[-1]})"
            )
        if self.num_blocks < 1:
            raise ValueError(
                f"{self.shape.name} needs {self.shape.memory / GB:,.0f} GB for its parameters; "
                f"{self.num_gpus} × {self.gpu.roof.name} offers "
                f"{self.num_gpus * self.gpu.memory * USABLE / GB:,.0f} GB. Raise num_gpus."
            )

    @property
    def pool_tokens(self) -> int:
        """Tokens whose K and V fit beside the weights."""
        memory = round(USABLE * self.gpu.memory * self.num_gpus)
        return (memory - self.shape.memory) // self.shape.kv_bytes_per_token

    @property
    def num_blocks(self) -> int:
        """The same in blocks of 16 tokens."""
        return self.pool_tokens // 16

    @property
    def roof(self) -> Roof:
        """The limits that one batch meets: of the machines of one stage."""
        one, together = self.gpu.roof, self.num_gpus / self.stages
        name = f"{self.num_gpus} × {one.name}" if self.num_gpus > 1 else one.name
        return Roof(name, one.bytes_per_s * together, one.flops_per_s * together, one.source)

    def cost(self, rows: int, prompt_tokens: int, context: int, pairs: int) -> StepCost:
        """Bytes and operations of a step with these contents. A row of a prompt counts one token
        more than it computes, since `rows` has all rows: an error of 0.2 % for 512 tokens."""
        tokens = rows + prompt_tokens
        attention = 4 * self.shape.layers * self.shape.query_size * (context + pairs)
        return StepCost(
            weight_bytes=2 * self.shape.weights,
            kv_bytes=context * self.shape.kv_bytes_per_token,
            flops=2 * self.shape.weights * tokens + attention,
            attention_flops=attention,
        )

    def seconds(self, rows: int, prompt_tokens: int, context: int, pairs: int) -> float:
        """Seconds of a step with these contents; they are those of `CostModel.seconds`."""
        function, numbers = self.formula
        return function(numbers, rows, prompt_tokens, context, pairs)

    @property
    def formula(self) -> tuple[Callable[..., float], tuple[float, ...]]:
        """What `seconds` calls, and its first argument, for a simulator that compiles it: the time
        of `cost` under `roof`, divided by the efficiency."""
        shape, roof = self.shape, self.roof
        byte, flop = (
            1 / (limit * self.efficiency) for limit in (roof.bytes_per_s, roof.flops_per_s)
        )
        reading = 2 * shape.weights * byte, shape.kv_bytes_per_token * byte
        computing = 2 * shape.weights * flop, 4 * shape.layers * shape.query_size * flop
        return _longer, (*reading, *computing)

    def __call__(self, plan: StepPlan) -> float:
        return self.seconds(*contents(plan))

    def at(self, efficiency: float) -> Preset:
        """The same at another efficiency."""
        return replace(self, efficiency=efficiency)


def _longer(
    numbers: tuple[float, ...], rows: int, prompt_tokens: int, context: int, pairs: int
) -> float:
    weights, kv, per_token, per_pair = numbers
    reading = weights + kv * context
    computing = per_token * (rows + prompt_tokens) + per_pair * (context + pairs)
    return max(reading, computing)


_SHEET = "data sheet of the SXM module: dense 16-bit operations on tensor cores, {}"
A100_40 = GPU(A100, 40 * GB)
A100_80 = GPU(Roof("A100 80 GB", 2.039e12, 312e12, _SHEET.format("HBM2e")), 80 * GB)
H100_80 = GPU(Roof("H100", 3.35e12, 989e12, _SHEET.format("HBM3")), 80 * GB)
H200_141 = GPU(H200, 141 * GB)

# An OPT or GPT layer has 12 · width² weights, without the biases; tables: vocabulary and positions.
OPT_13B = Shape(
    name="OPT-13B",
    parameters=40 * 12 * 5120**2 + (50_272 + 2_050) * 5120,
    only_looked_up=2_050 * 5120,
    layers=40,
    query_size=5120,
    kv_size=5120,
    source="config.json of facebook/opt-13b: 40 layers, width 5,120, output layer tied",
)
GPT3_175B = Shape(
    name="GPT-3 175B",
    parameters=96 * 12 * 12_288**2 + (50_257 + 2_048) * 12_288,
    only_looked_up=2_048 * 12_288,
    layers=96,
    query_size=12_288,
    kv_size=12_288,
    source="Brown et al., 2020, table 2.1: 96 layers, width 12,288, 96 heads of 128",
)
LLAMA_3_8B = Shape(
    name="Llama-3-8B",
    parameters=8_030_261_248,
    only_looked_up=128_256 * 4096,
    layers=32,
    query_size=4096,
    kv_size=1024,
    source="config.json of meta-llama/Meta-Llama-3-8B: 32 layers, 32 heads of 128, 8 for K and V",
)
LLAMA_3_70B = Shape(
    name="Llama-3-70B",
    parameters=70_553_706_496,
    only_looked_up=128_256 * 8192,
    layers=80,
    query_size=8192,
    kv_size=1024,
    source="config.json of meta-llama/Meta-Llama-3-70B: 80 layers, 64 heads of 128, 8 for K and V",
)
