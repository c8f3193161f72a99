"""Paged attention as numba CUDA kernels.

simple.py           one thread block per (token, head), shared memory and barriers: to learn from
tiled.py            reads K and V once for all query heads and draft tokens that share them
merge.py            joins the chunks of a context
write_kv.py         stores new tokens' K and V
shim.py             the only file that imports numba's CUDA

tiling.py           how the threads of `tiled` share the work
work_list.py        cuts a batch into chunks of similar size
validation.py       checks tensors and metadata before a launch
paged_attention.py  checks a step, plans it, launches the kernels
gpu.py              compiles kernels, and launches them on torch's stream
"""

import warnings

import torch

from ..gather_sdpa import gather_sdpa_attention
from ..reference import AttentionFunction


def kernel_attention(kernel: str, device: torch.device) -> AttentionFunction:
    """The kernel "simple", "tiled" or "split": on a GPU, or on a CPU in the kernel lab.

    "auto", on a GPU: the best of them, or torch's gathered attention if numba has no compiler.
    Raises RuntimeError for another kernel if numba has no compiler.
    """
    from .paged_attention import PagedAttention

    if device.type == "cpu":
        from ..emulation import Emulation

        return PagedAttention(kernel, Emulation())
    from .gpu import GPU

    try:
        return PagedAttention(kernel, GPU(device))
    except RuntimeError as error:
        if kernel != "auto":
            raise
        warnings.warn(f"{error}. Attention uses torch's own kernels.", stacklevel=3)
        return gather_sdpa_attention
