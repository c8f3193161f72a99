"""A StepPlan in, one forward pass of the model, one token out for each row that reached its end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from .attention import AttentionFunction
from .attention.metadata import build_metadata
from .attention.registration import ForwardContext
from .kv_cache import KVCache
from .plan import StepPlan
from .sampling import sample

if TYPE_CHECKING:
    from .model import Model


class ModelRunner:
    """Owns the KV tensors; knows nothing of queues or policies."""

    def __init__(
        self, model: Model, num_blocks: int, block_size: int, attention: AttentionFunction
    ) -> None:
        self.model = model
        self.block_size = block_size
        self.attention = attention
        self.kv_cache = KVCache(model.kv_shapes, num_blocks, block_size, model.device, model.dtype)
        # A 4-D mask is passed on as it is, so that transformers builds none of T x T for us.
        self._no_mask = torch.zeros(1, 1, 1, 1, device=model.device, dtype=model.dtype)

    def run(self, plan: StepPlan) -> list[int | None]:
        """One token per row of the plan; None for a row that did not reach its sequence's end."""
        tokens: list[int | None] = [None] * len(plan.rows)
        ending = [i for i, row in enumerate(plan.rows) if row.reaches_end]
        logits = self.forward(plan)
        if ending:
            sequences = [plan.rows[i].sequence for i in ending]
            for i, token in zip(ending, sample(logits, sequences), strict=True):
                tokens[i] = token
        return tokens

    @torch.inference_mode()
    def forward(self, plan: StepPlan) -> torch.Tensor:
        """Logits [rows that reach their sequence's end, vocabulary], in the order of the rows.

        All rows' tokens go through the model as one sequence, [1, T]; the metadata tells attention
        where each row begins. Logits are computed at the last token of a row, and nowhere else.
        """
        input_ids, metadata = build_metadata(
            plan, self.block_size, self.kv_cache.scratch_slot, self.model.device
        )
        last_tokens = [
            start + row.num_tokens - 1
            for row, (start, _, _) in zip(plan.rows, metadata.rows, strict=True)
            if row.reaches_end
        ]
        return self.model.hf(
            input_ids=input_ids[None],
            position_ids=metadata.positions[None],
            attention_mask=self._no_mask,
            use_cache=False,
            logits_to_keep=torch.tensor(last_tokens, dtype=torch.int64, device=self.model.device),
            minibatch=ForwardContext(self.kv_cache, metadata, self.attention),
        ).logits[0]
