"""Attention over a paged KV cache, in several versions that give the same result.

`choose` maps the engine's `attention=` argument to one of them. A learner's own function, with the
signature of `reference_attention`, is used as it is. It may also have a method

    write_kv(key_cache, value_cache, key, value, metadata, layer)

which then stores the new tokens' K and V, [tokens, kv_heads, head_dim], in the slots of
`metadata.slot_mapping`; without this method the engine stores them. `from_kernel` makes such a
function of a CUDA kernel.

    reference.py    the definition, in torch: every other version is compared with it
    metadata.py     each token's row, position and slot: what attention needs besides q, k, v
    gather_sdpa.py  copies a row's context, then torch's fused kernel: rows of many tokens
    cpu_decode.py   reads K and V in place on a CPU: rows of one token or a few
    exponential.py  e^x for numba's loops
    cpu_threads.py  how many threads compute a step, and a thread pool for numba's loops
    cores.py        how many cores this process can use now
    own_kernel.py   a learner's CUDA kernel in the engine
    cuda/           our CUDA kernels
    emulation.py    launches them without a GPU, in the kernel lab, which then records nothing
"""

from collections.abc import Callable

import torch

from .gather_sdpa import gather_sdpa_attention
from .metadata import AttentionMetadata, slot_mapping
from .reference import AttentionFunction, reference_attention

__all__ = ["AttentionMetadata", "choose", "from_kernel", "reference_attention", "slot_mapping"]


def from_kernel(kernel: Callable, **options: object) -> AttentionFunction:
    """Your own CUDA kernel as the engine's `attention=`; see `OwnKernel` for the options."""
    from .own_kernel import OwnKernel  # here, because it imports the kernel lab

    return OwnKernel(kernel, **options)


def choose(attention: str | AttentionFunction, device: torch.device) -> AttentionFunction:
    """The function for "auto", "reference", "gather", "cpu", or a kernel: "simple", "tiled",
    "split". A callable is returned unchanged.

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
