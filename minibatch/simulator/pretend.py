"""A model that computes nothing: the real engine and the real policies, in virtual time.

With `VirtualClock` a run takes milliseconds and shows what a policy *decides*. The time of a step
is then an assumption, and a picture of such a run must state that. torch is imported only when the
dtype is asked for, so an engine on a pretend model starts at once.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING

from ..core.plan import StepPlan

if TYPE_CHECKING:
    import torch

TOKEN = 0  # the token that it always generates


class PretendModel:
    """Used in place of `Model`. Requests are token ids that end at `max_tokens`."""

    hf = tokenizer = None
    eos_token_ids: frozenset[int] = frozenset()
    vocab_size = 1
    max_model_len = 10_000
    kv_shapes = ((1, 1),)

    @cached_property
    def dtype(self) -> torch.dtype:
        import torch

        return torch.float32

    @cached_property
    def device(self) -> torch.device:
        import torch

        return torch.device("cpu")

    def encode(self, text: str) -> list[int]:
        raise ValueError("a pretend model has no tokenizer; give prompts as lists of token ids")

    def num_affordable_blocks(self, block_size: int) -> float:
        """Infinity: there are no tensors behind its blocks."""
        return math.inf

    def runner(self, pool: object, attention: object) -> PretendRunner:
        return PretendRunner()


class PretendRunner:
    """Runs every plan at once, without computing."""

    def run(self, plan: StepPlan) -> list[list[int]]:
        return [
            [] if not row.reaches_end else row.verified([TOKEN] * len(row.draft) + [TOKEN])
            for row in plan.rows
        ]
