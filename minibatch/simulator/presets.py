"""GPUs and models by their data sheets: how many tokens fit, and how long a step takes.

    preset = mb.presets.Preset(mb.presets.OPT_13B, mb.presets.A100_40)
    mb.simulate(policy, traffic, preset, num_blocks=preset.num_blocks)

A step reads its bytes or computes its operations, whichever takes longer. Real kernels reach 0.6 to
0.9 of the data sheet's limits. These shares are the same for all GPUs and models, and never tuned
to a result. Communication between GPUs, the scheduler's time and sampling are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..core.plan import StepPlan
from . import data_sheets
from .cost import Roof, StepCost, contents
from .data_sheets import GB, GPU, Shape

OPT_13B, GPT3_175B = data_sheets.OPT_13B, data_sheets.GPT3_175B
LLAMA_3_8B, LLAMA_3_70B = data_sheets.LLAMA_3_8B, data_sheets.LLAMA_3_70B
A100_40, A100_80 = data_sheets.A100_40, data_sheets.A100_80
H100_80, H200_141 = data_sheets.H100_80, data_sheets.H200_141
EFFICIENCIES = (0.6, 0.75, 0.9)
USABLE = 0.9  # of the memory: vLLM's gpu_memory_utilization in 2023


@dataclass(frozen=True)
class Preset:
    """A model on `num_gpus` GPUs of one kind. It is a step time for `mb.simulate` and for clocks.

    efficiency: the share that is reached of the bandwidth, and of the operations a second unless
    compute_efficiency is given. If both are the same, they cancel out of every ratio of two times.
    mixes: prompts and decodes share a step. Otherwise a step with both takes as long as one of
    prompts and then one of decodes (vLLM until 2024, TGI).
    stages: of a pipeline. A batch passes through the stages one after the other, so a step has the
    bandwidth of num_gpus / stages GPUs. A real pipeline works on other batches in the meantime;
    that is not simulated.
    """

    shape: Shape
    gpu: GPU
    num_gpus: int = 1
    efficiency: float = 0.75
    compute_efficiency: float | None = None
    mixes: bool = True
    stages: int = 1

    def __post_init__(self) -> None:
        for share in self.efficiencies:
            if not 0 < share <= 1:
                raise ValueError(
                    f"efficiency is {share}; give a number above 0 and at most 1, the part of "
                    "the data sheet's maximum speed that a kernel reaches (kernels reach "
                    f"{EFFICIENCIES[0]} to {EFFICIENCIES[-1]})"
                )
        if self.stages < 1 or self.num_gpus % self.stages:
            raise ValueError(
                f"{self.num_gpus} GPUs cannot be divided into {self.stages} equal stages; change "
                "num_gpus or stages"
            )
        if self.num_blocks < 1:
            raise ValueError(
                f"{self.shape.name} needs {self.shape.memory / GB:,.0f} GB for its parameters; "
                f"{self.num_gpus} × {self.gpu.roof.name} offers "
                f"{self.num_gpus * self.gpu.memory * USABLE / GB:,.0f} GB. Raise num_gpus."
            )

    @property
    def efficiencies(self) -> tuple[float, float]:
        """Of reading, and of computing."""
        other = self.compute_efficiency
        return self.efficiency, self.efficiency if other is None else other

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
        """The limits of one step: those of the GPUs of one stage."""
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
        """Seconds of a step with these contents, which `CostModel.seconds` describes."""
        function, numbers = self.formula
        return function(numbers, rows, prompt_tokens, context, pairs)

    @property
    def formula(self) -> tuple[Callable[..., float], tuple[float, ...]]:
        """What `seconds` calls, and its first argument, for a simulator that compiles it: the time
        of `cost` under `roof`, divided by the efficiency."""
        shape, roof = self.shape, self.roof
        of_reading, of_computing = self.efficiencies
        byte, flop = 1 / (roof.bytes_per_s * of_reading), 1 / (roof.flops_per_s * of_computing)
        reading = 2 * shape.weights * byte, shape.kv_bytes_per_token * byte
        computing = 2 * shape.weights * flop, 4 * shape.layers * shape.query_size * flop
        return _together if self.mixes else _apart, (*reading, *computing)

    def __call__(self, plan: StepPlan) -> float:
        return self.seconds(*contents(plan))

    def at(self, efficiency: float, compute_efficiency: float | None = None) -> Preset:
        """The same at other efficiencies."""
        return replace(self, efficiency=efficiency, compute_efficiency=compute_efficiency)


def _together(
    numbers: tuple[float, ...], rows: int, prompt_tokens: int, context: int, pairs: int
) -> float:
    weights, kv, per_token, per_pair = numbers
    reading = weights + kv * context
    computing = per_token * (rows + prompt_tokens) + per_pair * (context + pairs)
    return max(reading, computing)


def _apart(
    numbers: tuple[float, ...], rows: int, prompt_tokens: int, context: int, pairs: int
) -> float:
    weights, kv, per_token, per_pair = numbers
    decoded = max(0, context - prompt_tokens)  # the context of whole prompts is their tokens
    prompts = decodes = 0.0
    if prompt_tokens:
        prompts = max(
            weights + kv * (context - decoded), per_token * prompt_tokens + per_pair * pairs
        )
    if decoded or not prompt_tokens:
        decodes = max(weights + kv * decoded, per_token * rows + per_pair * decoded)
    return prompts + decodes
