"""Runs kernels for the engine in place of a GPU: the kernel lab, without recording accesses."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ..kernel_lab.run_kernel import Launch


class Emulation:
    """A launcher for the paged-attention kernels, on the CPU. (`paged_attention.Launcher`)"""

    num_multiprocessors = 2  # few: here a cut context is not faster
    compute_capability = (9, 0)
    num_threads = 32  # a warp: more threads would only have more results to merge

    def __init__(self) -> None:
        warnings.warn(
            "No GPU runs these kernels: the kernel lab emulates each of their threads, thousands "
            'of times slower. attention="auto" chooses the fastest one for this machine.',
            stacklevel=4,
        )

    def launch(self, kernel: Callable, grid: tuple, num_threads: int, *arguments: object) -> None:
        """Raises RuntimeError for a fault at a barrier or a warp operation, and for no end."""
        for fault in Launch(kernel, grid, num_threads, 10**12).run(arguments, seconds=600).faults:
            raise RuntimeError(str(fault))
