"""A learner's CUDA kernel in the engine: on a GPU, or watched in the kernel lab."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence

import numpy as np
import torch

from ..kernel_lab.case import by_name
from ..kernel_lab.report import Report
from ..kernel_lab.run_kernel import run
from .emulation import Emulation
from .gather_sdpa import attend_row
from .metadata import AttentionMetadata


class OwnKernel:
    """An attention function that launches `kernel`, by default for rows of one token only.

    The kernel's arguments are matched by name: query, output [rows, heads, head_dim]; key_cache,
    value_cache [KV blocks, block_size, kv_heads, head_dim]; block_tables int32 [rows, width];
    seq_lens int32 [rows]; token_rows int32 [rows]; positions int64 [rows]; scale. All other
    arguments are taken from `more`, in order: numbers, tensors, or arrays of numpy, which become
    tensors on the device. A row here is one token, which sees seq_lens tokens.

    threads: of a thread block. grid: numbers, or a function of the numbers of rows, heads and KV
    heads; by default a thread block for each row and head. decode_only: torch computes rows of
    many tokens, such as prompts. On a CPU the kernel lab runs the kernel, and watches the first
    `watched` launches; their reports are kept in `reports`.
    Raises RuntimeError, with the lab's sentence, for a kernel with a fault.
    """

    def __init__(
        self,
        kernel: Callable,
        *,
        threads: int = 32,
        grid: tuple[int, ...] | Callable | None = None,
        more: Sequence[object] = (),
        decode_only: bool = True,
        watched: int = 6,
    ) -> None:
        self.kernel, self.threads, self.grid, self.more = kernel, threads, grid, more
        self.decode_only, self.watched = decode_only, watched
        self.__name__ = kernel.__name__
        self.reports: list[Report] = []
        self._launcher: object = None

    def __call__(
        self,
        query: torch.Tensor,
        key_cache: torch.Tensor,
        value_cache: torch.Tensor,
        metadata: AttentionMetadata,
        scale: float,
    ) -> torch.Tensor:
        """Shapes and result as `reference_attention`."""
        output, tokens = torch.empty_like(query), []
        for row, (start, end, _) in enumerate(metadata.rows):
            if self.decode_only and end - start > 1:
                attend_row(row, query, key_cache, value_cache, metadata, scale, output)
            else:
                tokens += range(start, end)
        if tokens:
            chosen = torch.tensor(tokens, device=query.device)
            own = query[chosen].contiguous()
            positions = metadata.positions[chosen]
            given = {
                "query": own,
                "key_cache": key_cache,
                "value_cache": value_cache,
                "block_tables": metadata.block_tables[metadata.token_rows[chosen].long()],
                "seq_lens": (positions + 1).int(),
                "token_rows": torch.arange(len(tokens), dtype=torch.int32, device=query.device),
                "positions": positions,
                "scale": scale,
                "output": torch.empty_like(own),
            }
            self._launch(given)
            output[chosen] = given["output"]
        return output

    def _launch(self, given: dict[str, object]) -> None:
        (rows, heads, _), kv_heads = given["query"].shape, given["key_cache"].shape[2]
        grid = self.grid or (rows, heads)
        grid = grid(rows, heads, kv_heads) if callable(grid) else grid
        self.more = [on_device(each, given["query"].device) for each in self.more]
        arguments = by_name(self.kernel, given, self.more)
        if given["query"].is_cpu and len(self.reports) < self.watched:
            report = run(self.kernel, grid, self.threads, *arguments)
            self.reports.append(report)
            for fault in report.faults:
                raise RuntimeError(f"{self.kernel.__name__}, {fault}")
            return
        if self._launcher is None:
            self._launcher = _launcher(given["query"].device)
        self._launcher.launch(self.kernel, grid, self.threads, *arguments)


def on_device(value: object, device: torch.device) -> object:
    """An array of numpy as a tensor on that device, where a kernel may change it; others as they
    are."""
    return torch.from_numpy(value).to(device) if isinstance(value, np.ndarray) else value


def _launcher(device: torch.device) -> object:
    if device.type == "cpu":
        with warnings.catch_warnings():  # the author of a kernel knows that the lab is slow
            warnings.simplefilter("ignore")
            return Emulation()
    from .cuda.gpu import GPU

    return GPU(device)
