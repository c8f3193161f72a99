"""The kernels as the engine calls them: checked, cut to the machine, launched."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Protocol

import torch

from ..gather_sdpa import attend_row, gather_sdpa_attention
from ..metadata import AttentionMetadata
from .simple import paged_attention_simple
from .tiled import make_tiled, merge_parts, plan_tiling
from .validation import check_metadata, check_tensors, is_supported
from .write_kv import write_kv

tiled_kernel = cache(make_tiled)
MOST_PARTS = 32
LEAST_OF_A_PART = 256  # tokens: less is not worth a merge
WAVES = 4  # thread blocks to give each multiprocessor before cutting stops


class Launcher(Protocol):
    """Where kernels run: a GPU, or the kernel lab."""

    num_multiprocessors: int
    compute_capability: tuple[int, int]
    num_threads: int  # of a thread block of the tiled kernel

    def launch(self, kernel: Callable, grid: tuple, num_threads: int, *arguments: object) -> None:
        """arguments: contiguous tensors and numbers, as the kernel takes them."""


class PagedAttention:
    """An attention function that runs the kernels, and stores K and V by a kernel, too.

    kernel: "simple", "tiled" or "split" for that one throughout; "auto" for the best: decode rows
    by "tiled" or "split", rows of many tokens by torch's own fused kernel over a gathered context.
    """

    def __init__(self, kernel: str, launcher: Launcher) -> None:
        self.kernel, self._launcher = kernel, launcher
        self._checked: tuple[object, ...] = ()
        self._workspace = torch.empty(0)

    def __call__(
        self,
        query: torch.Tensor,
        key_cache: torch.Tensor,
        value_cache: torch.Tensor,
        metadata: AttentionMetadata,
        scale: float,
    ) -> torch.Tensor:
        """Shapes and result as `reference_attention`. Raises ValueError before anything runs."""
        query = query.contiguous()
        if self.kernel == "auto" and not is_supported(query, key_cache, value_cache):
            return gather_sdpa_attention(query, key_cache, value_cache, metadata, scale)
        check_tensors(query, key_cache, value_cache)
        self._check(metadata, len(query), key_cache)
        output = torch.empty_like(query)
        for start, end in self._runs(metadata):
            self._attend(
                query[start:end],
                key_cache,
                value_cache,
                metadata.block_tables,
                metadata.token_rows[start:end],
                metadata.positions[start:end],
                max(length for first, _, length in metadata.rows if start <= first < end),
                scale,
                output[start:end],
            )
        if self.kernel == "auto":
            for row, (start, end, _) in enumerate(metadata.rows):
                if end - start > 1:
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
        for new, kv_cache in ((key, key_cache), (value, value_cache)):
            words = torch.int32 if new[0].numel() * new.element_size() % 4 == 0 else torch.int16
            self._launcher.launch(
                write_kv,
                (len(key),),
                self._launcher.num_threads,
                new.contiguous().flatten(1).view(words),
                metadata.slot_mapping,
                kv_cache.flatten(0, 1).flatten(1).view(words),
            )

    def _check(self, metadata: AttentionMetadata, num_tokens: int, cache: torch.Tensor) -> None:
        """Once for each step: the layers share their metadata."""
        what = (metadata, num_tokens, *cache.shape[:2])
        if what[1:] != self._checked[1:] or metadata is not self._checked[0]:
            check_metadata(metadata, num_tokens, *cache.shape[:2])
            self._checked = what

    def _runs(self, metadata: AttentionMetadata) -> list[tuple[int, int]]:
        """Stretches of tokens for the kernels, [start, end): with "auto", rows of one token."""
        runs: list[list[int]] = []
        for start, end, _ in metadata.rows:
            if self.kernel == "auto" and end - start > 1:
                continue
            if runs and runs[-1][1] == start:
                runs[-1][1] = end
            else:
                runs.append([start, end])
        return [(start, end) for start, end in runs]

    def _attend(
        self, query, key_cache, value_cache, tables, token_rows, positions, context, scale, output
    ) -> None:
        num_tokens, heads, head_dim = query.shape
        _, block_size, kv_heads, _ = key_cache.shape
        launch, threads = self._launcher.launch, max(32, 1 << (head_dim - 1).bit_length())
        if self.kernel == "simple":
            launch(
                paged_attention_simple,
                (num_tokens, heads),
                threads,
                *(query, key_cache, value_cache, tables, token_rows, positions, scale, output),
            )
            return
        tiling = plan_tiling(
            head_dim,
            block_size,
            kv_heads,
            heads // kv_heads,
            query.element_size(),
            self._launcher.num_threads,
            self._launcher.compute_capability,
        )
        parts = self._parts(num_tokens * kv_heads * tiling.slices, context)
        partial = self._partial(parts, num_tokens, heads, head_dim, query.device)
        launch(
            tiled_kernel(tiling, heads // kv_heads, parts > 1),
            (num_tokens, kv_heads * tiling.slices, parts),
            tiling.num_threads,
            *(query.flatten(), key_cache.flatten(), value_cache.flatten()),
            *(tables, token_rows, positions, scale),
            *((output, *partial[1:]) if parts == 1 else partial),
        )
        if parts > 1:
            launch(merge_parts, (num_tokens, heads), threads, *partial, output)

    def _parts(self, num_thread_blocks: int, context: int) -> int:
        """Into how many parts to cut the context, so that every multiprocessor has work."""
        if self.kernel == "tiled":
            return 1
        wanted = -(-WAVES * self._launcher.num_multiprocessors // num_thread_blocks)
        parts = min(wanted, MOST_PARTS, context // LEAST_OF_A_PART)
        return max(parts, 2 if self.kernel == "split" else 1)

    def _partial(self, parts, num_tokens, heads, head_dim, device) -> tuple[torch.Tensor, ...]:
        """Space for the parts' results, kept from launch to launch."""
        rows = parts * num_tokens * heads
        if self._workspace.numel() < rows * (head_dim + 2) or self._workspace.device != device:
            self._workspace = torch.empty(rows * (head_dim + 2), device=device)
        shape = (parts, num_tokens, heads)
        return (
            self._workspace[: rows * head_dim].view(*shape, head_dim),
            self._workspace[rows * head_dim : rows * (head_dim + 1)].view(shape),
            self._workspace[rows * (head_dim + 1) : rows * (head_dim + 2)].view(shape),
        )
