"""The model that a learner's code gets in the worker: the judge computes its forward passes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from minibatch.course.judging.values import Array, pack, unpack


class ModelProxy:
    """Looks like a transformers model; the judge computes its forward passes and counts them.

    Call it as the real one: `model(input_ids, past_key_values=…, use_cache=…, …)`.
    ask: sends the judge a question, and returns its answer. number: of the judge's model. device:
    where it claims to be, "cpu" or the device of another_device.py.
    """

    def __init__(self, ask: Callable[[dict], dict], number: int, device: str = "cpu") -> None:
        self._ask, self._number, self._place = ask, number, device
        self._caches: dict[int, _Cache] = {}

    @property
    def device(self) -> Any:
        import torch

        return torch.device(self._place)

    def place(self) -> contextlib.AbstractContextManager:
        """While this is entered, torch knows the model's device."""
        if self._place == "cpu":
            return contextlib.nullcontext()
        from minibatch.course.judging.another_device import Moves

        return Moves()

    def __call__(
        self,
        input_ids: Any,
        attention_mask: Any = None,
        position_ids: Any = None,
        past_key_values: Any = None,
        use_cache: bool | None = None,
        logits_to_keep: int = 0,
        **others: object,
    ) -> Any:
        if others:
            raise TypeError(
                "[model_takes_no_such_argument] "
                f"this model does not accept {', '.join(others)} here"
            )
        given = _Cache.of(past_key_values)
        tensors = {
            "input_ids": input_ids,
            "attention_mask": attention_mask,
            "position_ids": position_ids,
        }
        answer = self._ask(
            {
                "model": self._number,
                **{name: pack(value) for name, value in tensors.items()},
                "devices": {
                    name: str(value.device)
                    for name, value in tensors.items()
                    if hasattr(value, "device")
                },
                "cache": given.number if given else None,
                "use_cache": use_cache,
                "logits_to_keep": logits_to_keep,
            }
        )
        cache = None
        if answer["cache"] is not None:
            cache = self._caches.setdefault(answer["cache"], _Cache(answer["cache"]))
            cache.length = answer["length"]
            if past_key_values is not None:
                cache = cache.fills(past_key_values)
        return _Output(self._here(tensor(unpack(answer["logits"]))), cache)

    forward = __call__

    def _here(self, logits: Any) -> Any:
        return logits if self._place == "cpu" else logits.to(self._place)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            "[model_has_no_such_attribute] "
            f"the model here has no {name}: you can only call it, model(input_ids, …)"
        )


class _Cache:
    def __init__(self, number: int) -> None:
        self.number, self.length = number, 0

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.length

    @staticmethod
    def of(given: Any) -> _Cache | None:
        """The proxy of a given cache; None for None, and for an empty one of transformers."""
        if given is None or isinstance(given, _Cache):
            return given
        if hasattr(given, "filled_by"):
            return given.filled_by
        if getattr(given, "get_seq_length", lambda: 1)() == 0:
            return None
        raise TypeError(
            "[cache_is_no_cache] "
            "past_key_values must be what an earlier call of the model returned, not a "
            f"{type(given).__name__}"
        )

    def fills(self, given: Any) -> Any:
        """The cache that was given, which from now on reports this one's length."""
        if given is not self:
            given.filled_by, given.get_seq_length = self, self.get_seq_length
        return given


class _Output:
    def __init__(self, logits: Any, past_key_values: _Cache | None) -> None:
        self.logits, self.past_key_values = logits, past_key_values

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            return getattr(self, index)
        return (self.logits, self.past_key_values)[index]


def tensor(array: Array) -> Any:
    """The judge's array as a torch tensor."""
    import torch

    return torch.tensor(array.values, dtype=getattr(torch, array.dtype)).reshape(array.shape)
