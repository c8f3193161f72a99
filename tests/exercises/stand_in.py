"""The judge's end of a stand-in model: it computes forward passes for a worker, and counts them.

What arrives here may be anything: whatever is refused raises ValueError, and the learner hears why.
No worker's time limit counts the judge's own work, so it is bounded here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import DynamicCache, PreTrainedModel

from minibatch.course.judging.values import Array, pack, unpack

NO_END = "does your loop never end? this is"


@dataclass(frozen=True)
class Pass:
    """One forward pass: what went in, and what could be read off its logits.

    num_cached: tokens in the cache that went in with it; None if there was no cache. kept: whether
    there was one to hand on. positions, mask: as given, or None. first, last: the most likely token
    after the first and the last place; lowest: the least likely one after the last; highest: the
    logit of the most likely one; second, gap: the next most likely one, and by how much its logit
    is lower.
    """

    token_ids: list[int]
    num_cached: int | None
    kept: bool
    positions: list[int] | None
    mask: list[int] | None
    first: int
    last: int
    lowest: int
    highest: float
    second: int
    gap: float


class StandIn:
    """A transformers model to hand to `student.call`, for one sequence at a time.

    max_passes: then it answers no more, so that a loop without an end has one. device: where the
    learner's tensors have to be.
    """

    def __init__(self, hf: PreTrainedModel, max_passes: int, device: str = "cpu") -> None:
        self.hf, self.max_passes, self.device = hf, max_passes, device
        self.passes: list[Pass] = []
        self._caches: list[DynamicCache] = []

    def __call__(self, question: dict) -> dict:
        """The answer to a question of `model_proxy.ModelProxy`."""
        if len(self.passes) >= self.max_passes:
            raise ValueError(
                "[passes_without_end] "
                f"{NO_END} pass {len(self.passes) + 1}, more than any answer needs"
            )
        if self.device != "cpu":
            self._refuse_other_devices(question["devices"])
        keeps, most = question["use_cache"] is not False, self.hf.config.max_position_embeddings
        cache = self._cache(question["cache"], keeps)
        past = 0 if cache is None else cache.get_seq_length()
        input_ids = self._input_ids(question["input_ids"], most - past)
        num_tokens = input_ids.shape[1]
        mask = _one_row(question["attention_mask"], "attention_mask", past + num_tokens, 2)
        positions = _one_row(question["position_ids"], "position_ids", num_tokens, most)
        logits_to_keep = question["logits_to_keep"]
        if type(logits_to_keep) is not int or logits_to_keep < 0:
            raise ValueError(
                "[logits_to_keep_is_no_number] logits_to_keep must be a whole number; 0 keeps all"
            )
        with torch.inference_mode():
            out = self.hf(
                input_ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=cache is not None,
                logits_to_keep=logits_to_keep,
            )
        best, given = out.logits[0].argmax(-1), question["cache"] is not None
        highest, first_two = out.logits[0, -1].topk(2)
        self.passes.append(
            Pass(
                input_ids[0].tolist(),
                past if given else None,
                keeps,
                None if positions is None else positions[0].tolist(),
                None if mask is None else mask[0].tolist(),
                int(best[0]),
                int(best[-1]),
                int(out.logits[0, -1].argmin()),
                float(highest[0]),
                int(first_two[1]),
                float(highest[0] - highest[1]),
            )
        )
        return {
            "logits": pack(out.logits),
            "cache": self._caches.index(cache) if keeps else None,
            "length": past + num_tokens,
        }

    def _refuse_other_devices(self, devices: dict) -> None:
        for name, device in devices.items():
            if device != self.device:
                raise ValueError(
                    "[input_on_another_device] Expected all tensors to be on the same device: the "
                    f"model is on {self.device}, and {name} is on {device!s:.20}"
                )

    def _cache(self, number: object, keeps: bool) -> DynamicCache | None:
        """The one an earlier pass returned, a new one, or none if there is to be none."""
        if number is None and keeps:
            self._caches.append(DynamicCache(config=self.hf.config))
            return self._caches[-1]
        if number is None:
            return None
        if type(number) is not int or not 0 <= number < len(self._caches):
            raise ValueError(
                "[cache_of_another_model] "
                "past_key_values is not what an earlier call of this model returned"
            )
        return self._caches[number]

    def _input_ids(self, packed: object, room: int) -> torch.Tensor:
        shape = _whole_numbers(packed, "input_ids").shape
        if len(shape) != 2 or shape[0] != 1 or not 0 < shape[1] <= room:
            raise ValueError(
                f"[input_of_another_shape] input_ids has the shape {list(shape)[:4]}; it must be "
                f"[1, tokens], with 1 to {room} tokens. torch.tensor([ids]) makes such a tensor"
            )
        return _one_row(packed, "input_ids", shape[1], self.hf.config.vocab_size)


def _one_row(packed: object, name: str, length: int, limit: int) -> torch.Tensor | None:
    """An int64 tensor [1, length] of numbers below `limit`; None for None."""
    if packed is None:
        return None
    array = _whole_numbers(packed, name)
    if array.shape != (1, length):
        seen = list(array.shape)[:4]
        raise ValueError(
            "[argument_of_another_shape] "
            f"{name} has the shape {seen}; here it must be {[1, length]}"
        )
    row = array.values[0]
    if len(row) != length or not all(isinstance(n, int) and 0 <= n < limit for n in row):
        raise ValueError(f"[token_out_of_range] {name} must hold numbers from 0 to {limit - 1}")
    return torch.tensor([[int(n) for n in row]])


def _whole_numbers(packed: object, name: str) -> Array:
    array = unpack(packed)
    if not isinstance(array, Array) or array.dtype not in ("int64", "int32", "bool"):
        holds = f"; your tensor holds {array.dtype}" if isinstance(array, Array) else ""
        hint = " (torch.tensor keeps whole numbers; torch.Tensor makes floats)" if holds else ""
        raise ValueError(
            f"[argument_is_no_tensor] {name} must be a tensor of whole numbers (int64){holds}{hint}"
        )
    return array
