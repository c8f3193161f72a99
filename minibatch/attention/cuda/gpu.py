"""Compiles kernels for this machine's GPU, and launches them on torch's current stream."""

from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import torch

from .shim import cuda

# A decode step has small grids. numba would warn of each size below 128 thread blocks.
cuda.dispatcher.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0
MOST_WRAPPERS = 4096


@lru_cache(maxsize=256)
def compiled(kernel: Callable) -> Callable:
    """numba's dispatcher of a kernel, one for the process: a new one compiles the kernel again."""
    return cuda.jit(fastmath=True)(kernel)


class GPU:
    """A CUDA device as the kernels' launcher. Raises RuntimeError if numba cannot use it."""

    num_threads = 128

    def __init__(self, device: torch.device) -> None:
        if not cuda.is_available():
            raise RuntimeError(
                f"numba cannot use a GPU ({' '.join(str(cuda.cuda_error()).split())}). It needs "
                "driver >= 580 and numba-cuda[cu13]; python -m minibatch setup --numba-cuda "
                "installs the latter"
            )
        device = self.device = torch.device("cuda", device.index or 0)
        self.compute_capability = torch.cuda.get_device_capability(device)
        self.num_multiprocessors = torch.cuda.get_device_properties(device).multi_processor_count
        cuda.select_device(self.device.index)
        self._stream = cache(cuda.external_stream)
        self._wrappers: dict[tuple, object] = {}

    def launch(self, kernel: Callable, grid: tuple, num_threads: int, *arguments: object) -> None:
        handle = torch.cuda.current_stream(self.device).cuda_stream
        configured = compiled(kernel)[grid, num_threads, self._stream(handle)]
        configured(*map(self._wrapped, arguments))

    def _wrapped(self, argument: object) -> object:
        """numba's view of a tensor's memory. It is cached: making one takes longer than a launch.

        A view does not own memory, so a later tensor at the same address, with the same shape and
        dtype, can use it.
        """
        if not isinstance(argument, torch.Tensor):
            return np.int32(argument) if isinstance(argument, int) else np.float32(argument)
        key = (argument.data_ptr(), argument.shape, argument.dtype)
        if key not in self._wrappers:
            if len(self._wrappers) >= MOST_WRAPPERS:
                self._wrappers.clear()
            bits = argument.view(torch.int16) if argument.dtype == torch.bfloat16 else argument
            interface = bits.detach().__cuda_array_interface__
            self._wrappers[key] = cuda.from_cuda_array_interface(interface, owner=None, sync=False)
        return self._wrappers[key]
