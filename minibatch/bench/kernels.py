"""`python -m minibatch bench kernels`: the attention kernels on this GPU, beside a copy and others.

A decode step must read every K and V of its rows once. These bytes divided by the measured time are
the bandwidth of a kernel; a copy of a large tensor on the same GPU shows the possible bandwidth.
Beside our kernel run torch's SDPA on K and V that are gathered already, flex_attention on torch's
experimental PagedAttention, and, if it is installed, FlashInfer on the same KV blocks. All rows
have the same context, except in the last cases: one long row among short ones, which only our
kernel and FlashInfer support. Times are medians of CUDA events.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path

import torch
from tqdm import tqdm

from ..attention import choose
from ..attention.metadata import AttentionMetadata
from .stopwatch import gpu_times

BATCHES = (1, 8, 64, 256)
CONTEXTS = (512, 4096, 32_768)
HEAD_DIMS = (64, 128)
GROUPS = (1, 4, 8)
QUICK = {"batches": (1, 64), "contexts": (4096,), "head_dims": (128,), "groups": (1, 4, 8)}
RAGGED = (63, 512, 128), 32_768  # batch, context, head_dim; and the tokens of one row more
KV_HEADS, BLOCK_SIZE, PAGE_SIZE = 8, 16, 128
ROUNDS = 20
COPY_BYTES = 1 << 30
WORKSPACE_BYTES = 128 << 20  # of FlashInfer, as its documentation advises


@dataclass(frozen=True, slots=True)
class Case:
    """One shape: rows of one new token each, all with the same context, and one of `longest`."""

    batch: int
    context: int
    head_dim: int
    group: int  # query heads per KV head
    longest: int = 0  # tokens; 0: no such row

    @property
    def contexts(self) -> list[int]:
        return [self.context] * self.batch + [self.longest] * (self.longest > 0)

    @property
    def kv_bytes(self) -> int:
        """Bytes that must be read: K and V in bfloat16."""
        return 2 * 2 * sum(self.contexts) * KV_HEADS * self.head_dim


def main(argv: Sequence[str]) -> int:
    """Measure, print a table, and return 0; 2 where there is no GPU."""
    parser = argparse.ArgumentParser("python -m minibatch bench kernels", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="nine shapes instead of 75")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    about_compiled = "the compiler's code for seven kinds of GPU; needs no GPU"
    parser.add_argument("--compiled", action="store_true", help=about_compiled)
    options = parser.parse_args(argv)
    if options.compiled:
        from .compiled_kernels import print_table

        print_table()
        return 0
    if not torch.cuda.is_available():
        print("This measures an NVIDIA GPU, and torch sees none.", file=sys.stderr)
        return 2
    copy = copy_bandwidth()
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    print(f"A copy of 1 GiB reads and writes {copy / 1e12:.2f} TB/s. Shares of that:\n")
    print("batch context head_dim GQA   ours     SDPA gathered   flex paged     FlashInfer")
    results = []
    for case in tqdm(cases(options.quick), file=sys.stderr, leave=False):
        times = seconds_of_each(case)
        results.append({**asdict(case), "seconds": times})
        shares = "  ".join(f"{share(case, seconds, copy):>13}" for seconds in times.values())
        more = f"  and a row of {case.longest:,}" if case.longest else ""
        line = f"{case.batch:5} {case.context:7} {case.head_dim:8} {case.group:3} {shares}{more}"
        tqdm.write(line)
    if options.json:
        about = {"device": torch.cuda.get_device_name(), "torch": torch.__version__}
        about |= {"copy_bytes_per_s": copy, "results": results}
        options.json.write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return 0


def copy_bandwidth() -> float:
    """Bytes per second, read and written, of a copy of 1 GiB."""
    source = torch.empty(COPY_BYTES, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * COPY_BYTES / seconds_of(lambda: target.copy_(source))


def seconds_of(run: Callable[[], object]) -> float:
    """The median of ROUNDS runs, each with a cold cache."""
    return statistics.median(gpu_times(run, ROUNDS))


def cases(quick: bool) -> list[Case]:
    """All cases that leave half of the GPU's memory free, for gathered K and V and the pool."""
    axes = QUICK.values() if quick else (BATCHES, CONTEXTS, HEAD_DIMS, GROUPS)
    room = torch.cuda.get_device_properties(0).total_memory / 4
    found = [Case(*shape) for shape in product(*axes)]
    (shape, longest), groups = RAGGED, QUICK["groups"] if quick else GROUPS
    found += [Case(*shape, group, longest) for group in groups]
    return [case for case in found if case.kv_bytes < room]


def seconds_of_each(case: Case) -> dict[str, float | str]:
    """For each contender its seconds, or the reason why they could not be measured."""
    return {name: _seconds_or_reason(make, case) for name, make in CONTENDERS.items()}


def _seconds_or_reason(make: Callable[[Case], Callable[[], object]], case: Case) -> float | str:
    if case.longest and make not in (_ours, _flashinfer):
        return "not ragged"
    try:
        return seconds_of(make(case))
    except Exception as error:  # not available, or out of memory: a gap in the table
        torch.cuda.empty_cache()
        return f"{type(error).__name__}: {error}"[:200]


def share(case: Case, seconds: float | str, copy: float) -> str:
    """A time as a share of the copy's bandwidth `copy`, and in µs; or the reason's first word."""
    if isinstance(seconds, str):
        return seconds.partition(":")[0][:13]
    return f"{case.kv_bytes / seconds / copy:.0%} {seconds * 1e6:,.0f} µs"


def _query(
    case: Case, device: torch.device | str = "cuda", dtype: torch.dtype = torch.bfloat16
) -> torch.Tensor:
    shape = (len(case.contexts), KV_HEADS * case.group, case.head_dim)
    return torch.randn(shape, device=device, dtype=dtype)


def paged(case: Case, device: torch.device, dtype: torch.dtype) -> tuple:
    """What an attention function takes: query, K, V in blocks in random order, metadata, scale."""
    contexts = torch.tensor(case.contexts)
    per_row = [-(-context // BLOCK_SIZE) for context in case.contexts]
    shape = (sum(per_row), BLOCK_SIZE, KV_HEADS, case.head_dim)
    keys, values = (torch.randn(shape, device=device, dtype=dtype) for _ in range(2))
    order = torch.randperm(sum(per_row), dtype=torch.int32).split(per_row)
    rows = torch.arange(len(contexts), dtype=torch.int32)
    metadata = AttentionMetadata(
        query_start_loc=torch.arange(len(contexts) + 1, dtype=torch.int32, device=device),
        seq_lens=contexts.int().to(device),
        block_tables=torch.nn.utils.rnn.pad_sequence(order, batch_first=True).to(device),
        token_rows=rows.to(device),
        positions=(contexts - 1).to(device),
        slot_mapping=rows.long().to(device),
        rows=[(i, i + 1, context) for i, context in enumerate(case.contexts)],
        num_computed_tokens=[context - 1 for context in case.contexts],
    )
    return _query(case, device, dtype), keys, values, metadata, case.head_dim**-0.5


def _ours(case: Case) -> Callable[[], object]:
    device = torch.device("cuda")
    given, attend = paged(case, device, torch.bfloat16), choose("auto", device)
    return lambda: attend(*given)


def _sdpa(case: Case) -> Callable[[], object]:
    from torch.nn.functional import scaled_dot_product_attention

    shape = (case.batch, KV_HEADS, case.context, case.head_dim)
    keys, values = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    query = _query(case)[:, :, None]
    return lambda: scaled_dot_product_attention(query, keys, values, enable_gqa=case.group > 1)


def _flex(case: Case) -> Callable[[], object]:
    from torch.nn.attention.experimental._paged_attention import PagedAttention
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention, noop_mask

    torch.compiler.reset()  # past eight shapes of one function, torch would not compile it
    per_row = -(-case.context // PAGE_SIZE)
    pages = PagedAttention(case.batch * per_row, PAGE_SIZE, case.batch, device="cuda")
    for row in range(case.batch):
        pages.reserve(torch.tensor(row, device="cuda"), torch.tensor(case.context, device="cuda"))
    mask = create_block_mask(noop_mask, case.batch, 1, 1, case.context, device="cuda")
    mask = pages.convert_logical_block_mask(mask)
    shape = (1, KV_HEADS, case.batch * per_row * PAGE_SIZE, case.head_dim)
    keys, values = (torch.randn(shape, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    query, attend = _query(case)[:, :, None], torch.compile(flex_attention)
    score = pages.get_score_mod(None)
    more = {"score_mod": score, "block_mask": mask, "enable_gqa": case.group > 1}
    return lambda: attend(query, keys, values, **more)


def _flashinfer(case: Case, device: str = "cuda") -> Callable[[], object]:
    import flashinfer

    query, keys, values, about, _ = paged(case, torch.device(device), torch.bfloat16)
    lengths = about.seq_lens.cpu()
    per_row = -(-lengths // BLOCK_SIZE)
    tables = zip(about.block_tables, per_row.tolist(), strict=True)
    begins = torch.nn.functional.pad(per_row.cumsum(0), (1, 0)).int().to(device)
    in_last = ((lengths - 1) % BLOCK_SIZE + 1).to(device)
    workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=device)
    decode = flashinfer.BatchDecodeWithPagedKVCacheWrapper(
        workspace, "NHD", use_tensor_cores=case.group > 1
    )
    sizes = query.shape[1], KV_HEADS, case.head_dim, BLOCK_SIZE
    kinds = {"q_data_type": query.dtype, "kv_data_type": keys.dtype}
    decode.plan(begins, torch.cat([table[:n] for table, n in tables]), in_last, *sizes, **kinds)
    return lambda: decode.run(query, (keys, values))


CONTENDERS = {"ours": _ours, "sdpa": _sdpa, "flex": _flex, "flashinfer": _flashinfer}
