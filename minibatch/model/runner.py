"""Runs a StepPlan: one forward pass of the model; tokens for each row that reaches its end."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING

import torch
from transformers import PreTrainedModel

from ..attention import AttentionFunction
from ..attention.cores import Cores
from ..attention.cpu_threads import num_threads, torch_threads
from ..attention.metadata import build_metadata
from ..core.plan import StepPlan
from ..memory.kv_cache import KVCache
from .launched import Launched, new_worker
from .registration import ForwardContext
from .sampling import sample

if TYPE_CHECKING:
    from .graphs import DecodeGraphs

SMALL_STEP = 64_000_000  # parameters x tokens; up to here threads would wait more than compute


class ModelRunner:
    """Owns the KV tensors; does not know queues or policies.

    hf: a transformers model with our attention. kv_shapes: (kv_heads, head_dim) of each layer.
    """

    def __init__(
        self,
        hf: PreTrainedModel,
        kv_shapes: list[tuple[int, int]],
        num_blocks: int,
        block_size: int,
        attention: AttentionFunction,
    ) -> None:
        self.hf = hf
        self.block_size = block_size
        self.attention = attention
        self.kv_cache = KVCache(kv_shapes, num_blocks, block_size, hf.device, hf.dtype)
        self.llama = our_llama(hf, attention)
        self.num_parameters = hf.num_parameters()
        self.graphs: DecodeGraphs | None = None
        self.cores = Cores()
        self.worker = new_worker()  # executes launched steps on a CPU; starts no thread yet
        # transformers passes on a 4-D mask unchanged, so it does not build a T x T mask.
        self._no_mask = torch.zeros(1, 1, 1, 1, device=hf.device, dtype=hf.dtype)

    def run(self, plan: StepPlan) -> list[list[int]]:
        """A list of tokens for each row of the plan: none if the row does not reach its sequence's
        end; otherwise one, and one more for each accepted draft token."""
        ending = [row for row in plan.rows if row.reaches_end]
        ahead = [range(1 + len(row.draft)) for row in ending]  # the newest token, and the draft
        sequences = [row.sequence for row, each in zip(ending, ahead, strict=True) for _ in each]
        own = iter(sample(self.forward(plan), sequences, [i for each in ahead for i in each]))
        return [
            row.verified(list(islice(own, 1 + len(row.draft)))) if row.reaches_end else []
            for row in plan.rows
        ]

    def use_graphs(self, most_rows: int, longest: int) -> None:
        """Record decode steps now, and replay them from now on: steps of up to `most_rows` rows, of
        sequences of up to `longest` tokens. Raises as `graphs.recorded`."""
        from .graphs import recorded  # here, because importing numba takes a moment

        self.graphs = recorded(self, most_rows, longest)

    @torch.inference_mode()
    def forward(self, plan: StepPlan) -> torch.Tensor:
        """Logits [rows that reach their sequence's end, vocabulary], in the order of the rows.

        All rows' tokens go through the model as one sequence, [1, T]; the metadata tells attention
        where each row begins. Logits are computed only at the last token of a row, and at each of
        its draft tokens, which follow that token.
        """
        return self.prepare(plan)()

    def launch(
        self, plan: StepPlan, before: Launched | None = None, now: Callable[[], float] = monotonic
    ) -> Launched:
        """Begin a step, and do not wait for its end. before: the step in flight, which samples what
        this one reads. now: the clock of its times."""
        return Launched(self, plan, before, now)

    def settle(self) -> None:
        """Return when every step that was launched has been executed, or has failed."""
        if self.hf.device.type == "cuda":
            torch.cuda.synchronize(self.hf.device)
        else:
            self.worker.submit(int).result()  # it comes after all of them

    @torch.inference_mode()
    def prepare(
        self, plan: StepPlan, newest: Callable[[torch.Tensor], object] | None = None
    ) -> Callable[[], torch.Tensor]:
        """Build the inputs of a step now; what it returns computes the logits. newest: writes into
        the input ids, int64 [T], those that the step before has sampled."""
        if self.graphs is not None and self.graphs.take(plan):
            return self.graphs.prepare(plan, newest)
        input_ids, metadata = build_metadata(
            plan, self.block_size, self.kv_cache.scratch_slot, self.hf.device
        )
        last_tokens = [
            start + i
            for row, (start, _, _) in zip(plan.rows, metadata.rows, strict=True)
            if row.reaches_end
            for i in range(row.num_tokens - 1, row.num_written)
        ]
        keep = torch.tensor(last_tokens, dtype=torch.int64).to(self.hf.device, non_blocking=True)
        context = ForwardContext(self.kv_cache, metadata, self.attention)

        def logits() -> torch.Tensor:
            if newest is not None:
                newest(input_ids)
            return self.compute(input_ids, keep, context)

        return logits

    def compute(
        self, input_ids: torch.Tensor, keep: torch.Tensor, context: ForwardContext
    ) -> torch.Tensor:
        """Logits [n, vocabulary] at the tokens of `keep`, int64 [n]; input_ids: int64 [T]."""
        is_small = len(input_ids) * self.num_parameters <= SMALL_STEP
        with torch_threads(1 if is_small else self.cores.available(num_threads())):
            if self.llama is not None and not self.llama.is_watched(self.hf):
                return self.llama.forward(self.hf, input_ids, keep, context)
            return self.hf(
                input_ids=input_ids[None],
                position_ids=context.metadata.positions[None],
                attention_mask=self._no_mask,
                use_cache=False,
                logits_to_keep=keep,
                minibatch=context,
            ).logits[0]


def our_llama(hf: PreTrainedModel, attention: AttentionFunction) -> ModuleType | None:
    """llama.py, if its forward pass is right for this model, and numba compiles anyway."""
    if not getattr(attention, "is_compiled", False):
        return None
    from . import llama  # here, because importing numba takes a moment

    return llama if llama.fits(hf) else None
