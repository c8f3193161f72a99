"""The attention function that checks a step, plans it for this GPU, and launches the kernels."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Protocol

import torch

from ..gather_sdpa import attend_row, gather_sdpa_attention
from ..metadata import AttentionMetadata
from .merge import MERGE_TEAMS, merge_chunks
from .simple import paged_attention_simple
from .tiled import make_tiled
from .tiling import Tiling, plan_tiling
from .validation import check_metadata, check_tensors, is_supported
from .work_list import plan_chunks
from .write_kv import write_kv

tiled_kernel, tiling_of = cache(make_tiled), cache(plan_tiling)
MOST_NEW_TOKENS = 16  # of a row that the kernels compute, such as a token and its draft tokens


class Launcher(Protocol):
    """Runs kernels: `gpu.GPU`, or the kernel lab's `Emulation`."""

    num_multiprocessors: int
    compute_capability: tuple[int, int]
    num_threads: int  # of a thread block of the tiled kernel

    def launch(self, kernel: Callable, grid: tuple, num_threads: int, *arguments: object) -> None:
        """arguments: contiguous tensors and numbers, in the kernel's order."""


class PagedAttention:
    """An attention function that runs the kernels, and stores K and V with a kernel, too.

    kernel: "simple", "tiled" or "split" for all rows. "auto": rows of at most MOST_NEW_TOKENS new
    tokens use "tiled", with contexts cut where that is faster; longer rows use torch's own fused
    kernel over a gathered context. Nothing here waits for the GPU.
    """

    def __init__(self, kernel: str, launcher: Launcher) -> None:
        self.kernel, self.launcher = kernel, launcher
        self._checked: tuple[object, ...] = ()
        self._work: dict[Tiling, tuple] = {}  # this step's work list, for each shape of a layer
        # of this step: rows for the kernels; for torch; the most new tokens of a kernels' row
        self._ours, self._others, self._new_tokens = [], [], 0
        self._workspace = torch.empty(0)

    def __call__(
        self,
        query: torch.Tensor,
        key_cache: torch.Tensor,
        value_cache: torch.Tensor,
        metadata: AttentionMetadata,
        scale: float,
    ) -> torch.Tensor:
        """Shapes and result as `reference_attention`. Raises ValueError before any launch."""
        query = query.contiguous()
        if self.kernel == "auto" and not is_supported(query, key_cache, value_cache):
            return gather_sdpa_attention(query, key_cache, value_cache, metadata, scale)
        check_tensors(query, key_cache, value_cache)
        self._check(metadata, len(query), key_cache)
        output = torch.empty_like(query)
        if self.kernel == "simple":
            self.launcher.launch(
                *(paged_attention_simple, query.shape[:2], _threads(query)),
                *(query, key_cache, value_cache, metadata.block_tables),
                *(metadata.token_rows, metadata.positions, scale, output),
            )
            return output
        if self._ours:
            self._attend(query, key_cache, value_cache, metadata, scale, output)
        for row in self._others:
            attend_row(row, query, key_cache, value_cache, metadata, scale, output)
        return output

    def write_kv(
        self,
        key_cache: torch.Tensor,
        value_cache: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        metadata: AttentionMetadata,
        layer: int = 0,
    ) -> None:
        """Store new tokens' K and V, [tokens, kv_heads, head_dim], in the slots of the metadata."""
        self._check(metadata, len(key), key_cache)
        words = torch.int32 if key[0].numel() * key.element_size() % 4 == 0 else torch.int16
        self.launcher.launch(
            *(write_kv, (len(key), 2), self.launcher.num_threads),
            *(new.contiguous().flatten(1).view(words) for new in (key, value)),
            metadata.slot_mapping,
            *(cache.flatten(0, 1).flatten(1).view(words) for cache in (key_cache, value_cache)),
        )

    def _check(self, metadata: AttentionMetadata, num_tokens: int, cache: torch.Tensor) -> None:
        """Check the metadata once for each step: all layers share them."""
        what = (metadata, num_tokens, *cache.shape[:2])
        if what[1:] != self._checked[1:] or metadata is not self._checked[0]:
            check_metadata(metadata, num_tokens, *cache.shape[:2])
            self._checked, self._work = what, {}
            most = MOST_NEW_TOKENS if self.kernel == "auto" else num_tokens
            new = [end - start for start, end, _ in metadata.rows]
            self._ours = [row for row, number in enumerate(new) if number <= most]
            self._others = [row for row, number in enumerate(new) if number > most]
            self._new_tokens = max((new[row] for row in self._ours), default=0)

    def _attend(self, query, key_cache, value_cache, metadata, scale, output) -> None:
        _, heads, head_dim = query.shape
        _, block_size, kv_heads, _ = key_cache.shape
        shape = head_dim, block_size, kv_heads, heads // kv_heads, query.element_size()
        device = self.launcher.num_threads, self.launcher.compute_capability
        tiling = tiling_of(*shape, *device, self._new_tokens)
        if tiling not in self._work:
            self._work[tiling] = self._planned(tiling, metadata)
        chunks, merges, split = self._work[tiling]
        shape = (len(chunks), tiling.tokens, heads) if split else (1, 1, 1)
        partial = self._partial(shape, head_dim, query.device)
        kernel, grid = tiled_kernel(tiling, split), (len(chunks), kv_heads * tiling.slices)
        self.launcher.launch(
            *(kernel, grid, tiling.num_threads),
            *(query.flatten(), key_cache.flatten(), value_cache.flatten()),
            *(metadata.block_tables, metadata.positions, chunks, scale),
            *(partial if split else (output, *partial[1:])),
        )
        if split:
            grid, threads = (len(merges), heads), MERGE_TEAMS * _threads(query)
            self.launcher.launch(merge_chunks, grid, threads, *partial, merges, output)

    def _planned(self, tiling: Tiling, metadata: AttentionMetadata) -> tuple:
        """Chunks and merges, on the device, and whether any chunks are merged."""
        work = plan_chunks(metadata, self._ours, tiling.tokens, self._places(tiling), self.kernel)
        both, device = (work.chunks, work.merges), metadata.positions.device
        lists = (torch.from_numpy(each).to(device, non_blocking=True) for each in both)
        return *lists, work.is_split or self.kernel == "split"

    def _places(self, tiling: Tiling) -> int:
        """How many chunks the GPU computes at a time."""
        return (
            tiling.resident * self.launcher.num_multiprocessors // (tiling.kv_heads * tiling.slices)
        )

    def _partial(self, shape, head_dim, device) -> tuple[torch.Tensor, ...]:
        """Memory for the chunks' results, reused by later launches."""
        n = shape[0] * shape[1] * shape[2]
        if self._workspace.numel() < n * (head_dim + 2) or self._workspace.device != device:
            self._workspace = torch.empty(n * (head_dim + 2), device=device)
        output, highest, total = self._workspace[: n * (head_dim + 2)].split([n * head_dim, n, n])
        return output.view(*shape, head_dim), highest.view(shape), total.view(shape)


def _threads(query: torch.Tensor) -> int:
    """A thread for each element of a head, in whole warps."""
    return max(32, 1 << (query.shape[2] - 1).bit_length())
