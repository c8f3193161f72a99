"""Decode steps as CUDA graphs: `Engine(cuda_graphs=True)`.

A decode step of a small batch is hundreds of kernels of a few microseconds each. Starting a kernel
from Python takes longer than that. A graph is such a step recorded once: every launch with its grid
and its addresses. All of it is then started as one. (vLLM, SGLang and TensorRT-LLM do the same.)

A replay reads the recorded addresses. So token ids, positions, slots, block tables and attention's
work list have fixed buffers, which are filled before a replay; logits have one, too. A graph has a
fixed number of rows. A step of 5 rows uses the graph for 8, with 3 dummy rows at the end, which
read and write the one KV block that no request owns. Three things run without a graph: a step in
which a row has several tokens (a prompt, draft tokens), a step of more rows than any graph, and
sampling. Hooks on a model's modules are Python, so a replay does not call them.

tests/model/test_graphs.py replaces torch.cuda by an object that records calls and repeats them on
the same memory. It shows three things: the tokens are those without graphs; nothing is read but
these buffers, weights, K and V; no dummy row changes what another row reads. It does not show that
a GPU records the step: `test_graphs_change_no_token` in tests/engine/test_gpu.py does, on a GPU.
This code has never run on one.
"""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from ..attention.cuda.paged_attention import PagedAttention
from ..attention.cuda.tiling import Tiling
from ..attention.cuda.validation import check_metadata
from ..attention.cuda.work_list import most_chunks, plan_chunks
from ..attention.metadata import AttentionMetadata, build_metadata
from ..core.plan import Row, StepPlan
from ..core.request import Request, Sequence
from ..memory.kv_cache import KVCache
from .registration import ForwardContext

if TYPE_CHECKING:
    from .runner import ModelRunner

MOST_ROWS = 256  # of a graph: a larger step takes longer to compute than to launch
CPU = torch.device("cpu")


def recorded(runner: ModelRunner, most_rows: int, longest: int) -> DecodeGraphs:
    """Record a runner's decode steps of up to `most_rows` rows, for sequences of up to `longest`
    tokens. Raises ValueError without a GPU, or if attention is not one of the kernels; RuntimeError
    if the model's step cannot be recorded."""
    if (device := runner.hf.device).type != "cuda":
        raise ValueError(
            f"cuda_graphs=True needs an NVIDIA GPU, and this model is on {device}: load it with "
            'mb.load_model(device="cuda"), or leave cuda_graphs out'
        )
    if not isinstance(runner.attention, PagedAttention):
        name = getattr(runner.attention, "__name__", type(runner.attention).__name__)
        raise ValueError(
            f"cuda_graphs=True records the kernels' launches, and attention is {name}: give "
            'attention="auto" (with numba-cuda), "tiled", "split" or "simple", or leave '
            "cuda_graphs out"
        )
    return DecodeGraphs(runner, most_rows, longest)


class DecodeGraphs:
    """The graphs of a runner: for 1, 2, 4, 8, … rows, up to the largest step."""

    def __init__(self, runner: ModelRunner, most_rows: int, longest: int) -> None:
        self.runner, most_rows = runner, min(most_rows, MOST_ROWS)
        self.sizes = [1 << i for i in range((most_rows - 1).bit_length())] + [most_rows]
        self.widest = -(-longest // runner.block_size)  # KV blocks of a sequence
        dummy = Sequence(Request([0]), "dummy", [0], num_prompt_tokens=1)
        dummy.block_table = [runner.kv_cache.scratch_slot // runner.block_size]
        self._dummy_row = Row(dummy, 1)

        # The buffers that all graphs read and write, as long as the largest graph needs.
        token_ids, metadata = self._built([], most_rows)
        arrays = {**metadata.uploaded, "block_tables": np.zeros((most_rows, self.widest), np.int32)}
        device = runner.hf.device
        self._inputs = {name: torch.from_numpy(each).to(device) for name, each in arrays.items()}
        self._token_ids, self._keep = token_ids.to(device), torch.arange(most_rows, device=device)
        self._attention = StaticAttention(runner.attention, longest)
        self._logits = torch.empty(0)

        with torch.cuda.device(device):  # the largest first: the others fit into its memory
            stream, pool = torch.cuda.Stream(), torch.cuda.graph_pool_handle()
            self._graphs = {n: self._recorded(n, stream, pool) for n in reversed(self.sizes)}

    def take(self, plan: StepPlan) -> bool:
        """Whether there is a graph for this step."""
        return len(plan.rows) <= self.sizes[-1] and all(
            row.num_written == 1
            and row.reaches_end
            and not row.num_padding_tokens
            and len(row.sequence.block_table) <= self.widest
            for row in plan.rows
        )

    def prepare(
        self, plan: StepPlan, newest: Callable[[torch.Tensor], object] | None = None
    ) -> Callable[[], torch.Tensor]:
        """Build the inputs of a step for which `take` is true. What it returns replays the graph:
        logits [rows, vocabulary]; the next step overwrites them. newest: as in
        `ModelRunner.prepare`."""
        size = next(size for size in self.sizes if size >= len(plan.rows))
        built = self._built(plan.rows, size)

        def logits() -> torch.Tensor:
            self._fill(*built)
            if newest is not None:
                newest(self._token_ids)
            self._graphs[size].replay()
            return self._logits[: len(plan.rows)]

        return logits

    def _built(self, rows: list[Row], size: int) -> tuple[torch.Tensor, AttentionMetadata]:
        """Token ids and metadata of these rows and the dummy rows after them, on the host."""
        plan = StepPlan([*rows, *[self._dummy_row] * (size - len(rows))])
        return build_metadata(plan, self.runner.block_size, self.runner.kv_cache.scratch_slot, CPU)

    def _fill(self, token_ids: torch.Tensor, metadata: AttentionMetadata) -> None:
        """Check a step, and copy its inputs to the buffers that graphs read."""
        self._attention.renew(metadata, self.runner.kv_cache)
        self._token_ids[: len(token_ids)].copy_(token_ids, non_blocking=True)
        for name, buffer in self._inputs.items():
            new = getattr(metadata, name)
            buffer[tuple(slice(n) for n in new.shape)].copy_(new, non_blocking=True)

    @torch.inference_mode()
    def _recorded(self, size: int, stream: torch.cuda.Stream, pool: object) -> torch.cuda.CUDAGraph:
        """Record a step of `size` rows, after two runs of dummy rows. The first compiles and takes
        memory, which cannot be recorded. The second finds code that waits for the GPU, which cannot
        be recorded either: outside a recording its error is clearer."""
        _, host = self._built([], size)
        read = {name: each[: len(getattr(host, name))] for name, each in self._inputs.items()}
        context = ForwardContext(self.runner.kv_cache, replace(host, **read), self._attention)

        def run() -> None:
            logits = self.runner.compute(self._token_ids[:size], self._keep[:size], context)
            if len(self._logits) < size:
                self._logits = torch.empty_like(logits)
            self._logits[:size].copy_(logits)

        graph = torch.cuda.CUDAGraph()
        stream.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(stream):
                run()
                with no_synchronization():
                    run()
            with no_collection(), torch.cuda.graph(graph, pool=pool, stream=stream):
                run()
        except (RuntimeError, ValueError) as error:
            raise RuntimeError(
                f"cuda_graphs=True: a decode step of {size} rows cannot be recorded: {error}. "
                "Leave cuda_graphs out; if memory is short, lower num_blocks or max_batch_size"
            ) from error
        torch.cuda.current_stream().wait_stream(stream)
        return graph


class StaticAttention(PagedAttention):
    """The kernels for rows of one token, launched with the largest grids that they may need. Their
    work list is in buffers; a thread block that reads an empty chunk there returns at once."""

    def __init__(self, attention: PagedAttention, longest: int) -> None:
        kernel = "cut" if attention.kernel == "auto" else attention.kernel  # nothing goes to torch
        super().__init__(kernel, attention.launcher)
        self._longest = longest
        self._buffers: dict[Tiling, list[torch.Tensor]] = {}  # chunks and merges

    def _planned(self, tiling: Tiling, metadata: AttentionMetadata) -> tuple:
        return *self._put(tiling, metadata), self.kernel != "tiled"

    def renew(self, metadata: AttentionMetadata, kv_cache: KVCache) -> None:
        """Check a step, and copy its work list to the buffers. metadata: on the host."""
        check_metadata(metadata, len(metadata.rows), *kv_cache.keys[0].shape[:2])
        for tiling in self._buffers:
            self._put(tiling, metadata)

    def _put(self, tiling: Tiling, metadata: AttentionMetadata) -> list[torch.Tensor]:
        """The step's chunks and merges, each in its buffer, followed by empty ones."""
        num_rows, places = len(metadata.rows), self._places(tiling)
        work = plan_chunks(metadata, range(num_rows), 1, places, self.kernel)
        room = most_chunks(num_rows, self._longest, places, self.kernel) - len(work.chunks)
        chunks = np.pad(work.chunks, ((0, room), (0, 0)))
        lists = torch.from_numpy(chunks), torch.from_numpy(work.merges)
        if tiling not in self._buffers:  # the longest they will be: the most rows come first
            self._buffers[tiling] = [new.to(metadata.positions.device) for new in lists]
        parts = [old[: len(new)] for old, new in zip(self._buffers[tiling], lists, strict=True)]
        for part, new in zip(parts, lists, strict=True):
            part.copy_(new, non_blocking=True)
        return parts


@contextmanager
def no_synchronization() -> Iterator[None]:
    """Inside, code that waits for the GPU raises RuntimeError."""
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls this a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode(before)


@contextmanager
def no_collection() -> Iterator[None]:
    """Inside, Python's collector is off: it might unload a kernel, and a recording forbids that."""
    before = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
