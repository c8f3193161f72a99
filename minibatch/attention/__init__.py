"""Attention over a paged KV cache, in several versions that agree.

`choose` maps the engine's `attention=` argument to one of them; a learner's own function, with the
signature of `reference_attention`, is taken as it is.
"""

import torch

from .gather_sdpa import gather_sdpa_attention
from .metadata import AttentionMetadata, slot_mapping
from .reference import AttentionFunction, reference_attention

__all__ = ["AttentionMetadata", "choose", "reference_attention", "slot_mapping"]


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
