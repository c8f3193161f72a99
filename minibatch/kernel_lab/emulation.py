"""The kernel lab in a GPU's place: kernels run here as they are, unwatched, so that a model can."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from .run_kernel import Launch


class Emulation:
    """A launcher for the paged-attention kernels, on the CPU."""

    num_multiprocessors = 2  # few: cutting a context gains nothing here
    compute_capability = (9, 0)
    num_threads = 32  # a warp: more would only have more to merge

    def __init__(self) -> None:
        warnings.warn(
            "No GPU runs these kernels: the kernel lab emulates each of their threads, thousands "
            'of times slower. attention="auto" takes the best that this machine has.',
            stacklevel=4,
        )

    def launch(self, kernel: Callable, grid: tuple, num_threads: int, *arguments: object) -> None:
        """Raises RuntimeError for what would hang a GPU."""
        for fault in Launch(kernel, grid, num_threads, 10**12).run(arguments, seconds=600).faults:
            raise RuntimeError(str(fault))
