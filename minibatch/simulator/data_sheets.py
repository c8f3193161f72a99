"""GPUs and models as their data sheets and configs describe them, each with its source."""

from __future__ import annotations

from dataclasses import dataclass

from .cost import A100, H200, Roof

GB = 10**9


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
