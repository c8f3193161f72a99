"""Attention over a paged KV cache, in several versions that agree.

`choose` maps the engine's `attention=` argument to one of them; a learner's own function, with the
signature of `reference_attention`, is taken as it is. It may also have a method

    write_kv(key_cache, value_cache, key, value, metadata, layer)

which then stores the new tokens' K and V, [tokens, kv_heads, head_dim], in the slots of
`metadata.slot_mapping`; without one the engine does. `from_kernel` makes such a function of a CUDA
kernel.
"""

from collections.abc import Callable

import torch

from .gather_sdpa import gather_sdpa_attention
from .metadata import AttentionMetadata, slot_mapping
from .reference import AttentionFunction, reference_attention

__all__ = ["AttentionMetadata", "choose", "from_kernel", "reference_attention", "slot_mapping"]


def from_kernel(kernel: Callable, **options: object) -> AttentionFunction:
    """A CUDA kernel of your own as the engine's `attention=`; see `OwnKernel` for the options."""
    from .own_kernel import OwnKernel  # here: the kernel lab is for those who ask for it

    return OwnKernel(kernel, **options)


def choose(attention: str | AttentionFunction, device: torch.device) -> AttentionFunction:
    """The function for "auto", "reference", "gather", "cpu", or a kernel; a callable is itself.

    Raises ValueError for a name that does not exist, or "cpu" on another device.
    """
    if callable(attention):
        return attention
    if attention in ("simple", "tiled", "split") or (attention == "auto" and device.type == "cuda"):
        from .cuda import kernel_attention  # here, because importing numba takes a moment

        return kernel_attention(attention, device)
    if attention == "auto":
        attention = "cpu" if device.type == "cpu" else "gather"
    if attention == "reference":
        return reference_attention
    if attention == "gather":
        return gather_sdpa_attention
    if attention == "cpu" and device.type == "cpu":
        from .cpu_decode import cpu_attention

        return cpu_attention
    raise ValueError(
        f'attention is {attention!r} on {device}; choose "auto", "reference", "gather", "cpu" (on '
        'a CPU), "simple", "tiled" or "split", or give a function'
    )
