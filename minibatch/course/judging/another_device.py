"""A device that no computer has: it shows whether a learner's tensors are where the model is.

A tensor of it is an `Elsewhere`: its numbers are in the CPU's memory, and it says that they are
not. While `Moves` is in force, torch makes, moves and refuses tensors as if the device were there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

DEVICE = torch.device("xpu:0")


class Elsewhere(torch.Tensor):
    """A tensor on that device. What torch computes of it is there as well."""

    @property
    def device(self) -> torch.device:
        return DEVICE


class Moves(TorchFunctionMode):
    """Follows tensors to that device and back, and refuses what torch refuses there."""

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if func in (torch.Tensor.numpy, torch.Tensor.__array__) and _is_there(args[0]):
            raise TypeError(
                f"can't convert {DEVICE} device type tensor to numpy. "
                "Use Tensor.cpu() to copy the tensor to host memory first."
            )
        if func is torch.Tensor.cpu:
            return args[0].as_subclass(torch.Tensor)
        if func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], torch.Tensor):
            kwargs["device"], args = args[1].device, (args[0], args[1].dtype, *args[2:])
        elif func is torch.Tensor.to and len(args) > 1 and isinstance(args[1], str | torch.device):
            kwargs["device"], args = args[1], (args[0], *args[2:])
        if kwargs.get("device") is None:
            if func is not torch.Tensor.__getitem__:
                _refuse_two_devices(args)
            return func(*args, **kwargs)
        is_there = torch.device(kwargs["device"]).type == DEVICE.type
        if is_there:
            kwargs["device"] = "cpu"
        made = func(*args, **kwargs)
        kind = Elsewhere if is_there else torch.Tensor
        return made.as_subclass(kind) if isinstance(made, torch.Tensor) else made


def _is_there(value: object) -> bool:
    return isinstance(value, Elsewhere)


def _refuse_two_devices(args: Iterable) -> None:
    """As torch, which lets a tensor without dimensions be on the CPU."""
    tensors = [one for one in _tensors(args) if one.dim()]
    if len({_is_there(one) for one in tensors}) == 2:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, "
            f"{DEVICE} and cpu!"
        )


def _tensors(values: Iterable) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from _tensors(value)
