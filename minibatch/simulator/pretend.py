"""A model that computes nothing: the real engine and the real policies, in made-up time.

With `VirtualClock` it shows what a policy *decides*, in milliseconds. How long a step takes is then
an assumption, and a picture of such a run has to say so.
"""

from __future__ import annotations

import torch

from ..core.plan import StepPlan

TOKEN = 0  # what it answers, always


class PretendModel:
    """Stands in for `Model`. Requests are token ids that end at `max_tokens`."""

    tokenizer = None
    eos_token_ids: frozenset[int] = frozenset()
    vocab_size = 1
    max_model_len = 10_000
    kv_shapes = ((1, 1),)
    device, dtype = torch.device("cpu"), torch.float32

    def encode(self, text: str) -> list[int]:
        raise ValueError("a pretend model has no tokenizer; give prompts as lists of token ids")

    def runner(self, pool: object, attention: object) -> PretendRunner:
        return PretendRunner()


class PretendRunner:
    """Answers every plan at once."""

    def run(self, plan: StepPlan) -> list[list[int]]:
        return [[TOKEN] if row.reaches_end else [] for row in plan.rows]
