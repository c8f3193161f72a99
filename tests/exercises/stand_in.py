"""The judge's end of a stand-in model: it computes forward passes for a desk, and counts them."""

from __future__ import annotations

import torch
from transformers import DynamicCache

from minibatch.course.judging.values import Array, pack, unpack

MOST_TOKENS = 200  # that one pass may have


class StandIn:
    """A transformers model to hand to `student.call`. What it was fed is remembered here.

    fed: the shape of each pass's input. Raises ValueError for what no exercise asks; the learner
    then reads it as an error of the model's.
    """

    def __init__(self, hf: torch.nn.Module) -> None:
        self.hf = hf
        self.fed: list[tuple[int, int]] = []
        self._caches: list[DynamicCache] = []

    def __call__(self, question: dict) -> dict:
        ids = _whole_numbers(question["input_ids"], "input_ids")
        if ids is None or ids.dim() != 2:
            raise ValueError("input_ids must be a tensor of shape [1, tokens]")
        if ids.numel() == 0 or ids.numel() > MOST_TOKENS:
            raise ValueError(f"{ids.numel()} tokens went in; give 1 to {MOST_TOKENS}")
        if ids.min() < 0 or ids.max() >= self.hf.config.vocab_size:
            raise ValueError("input_ids names a token that the model does not know")
        self.fed.append(tuple(ids.shape))
        number, keeps = question["cache"], question["use_cache"] is not False
        cache = None
        if number is not None:
            cache = self._caches[number]
        elif keeps:
            cache = DynamicCache(config=self.hf.config)
            self._caches.append(cache)
            number = len(self._caches) - 1
        with torch.inference_mode():
            out = self.hf(
                ids,
                attention_mask=_whole_numbers(question["attention_mask"], "attention_mask"),
                position_ids=_whole_numbers(question["position_ids"], "position_ids"),
                past_key_values=cache,
                use_cache=cache is not None,
                logits_to_keep=int(question["logits_to_keep"]),
            )
        return {
            "logits": pack(out.logits),
            "cache": number,
            "length": 0 if cache is None else cache.get_seq_length(),
        }


def _whole_numbers(packed: object, name: str) -> torch.Tensor | None:
    value = unpack(packed)
    if value is None:
        return None
    if not isinstance(value, Array) or value.dtype not in ("int64", "int32", "bool"):
        raise ValueError(f"{name} must be a tensor of whole numbers (int64)")
    return torch.tensor(value.values, dtype=torch.int64).reshape(value.shape)
