"""Checks before a launch: a kernel that reads past its arrays does not report it."""

import numpy as np
import torch

from ..metadata import AttentionMetadata

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
MAX_HEAD_DIM = 256


def check_tensors(query: torch.Tensor, key_cache: torch.Tensor, value_cache: torch.Tensor) -> None:
    """Raises ValueError, with the numbers, for tensors that the kernels do not support."""
    heads, head_dim = query.shape[1:]
    _, _, kv_heads, cache_dim = key_cache.shape
    if key_cache.shape != value_cache.shape:
        raise ValueError(
            f"K and V differ: {list(key_cache.shape)} and {list(value_cache.shape)}; "
            'attention="gather" allows this'
        )
    if head_dim != cache_dim or heads % kv_heads:
        raise ValueError(
            f"query has {heads} heads of {head_dim}, the cache {kv_heads} of {cache_dim}: head_dim "
            "must be equal, and the number of heads a multiple of the KV heads"
        )
    if head_dim % 8 or not 16 <= head_dim <= MAX_HEAD_DIM:
        raise ValueError(
            f"head_dim is {head_dim}; the kernels support multiples of 8 from 16 to "
            f'{MAX_HEAD_DIM}. attention="gather" supports any'
        )
    dtypes = {query.dtype, key_cache.dtype, value_cache.dtype}
    if len(dtypes) > 1 or query.dtype not in DTYPES:
        names = ", ".join(sorted(str(dtype) for dtype in dtypes))
        raise ValueError(
            f"query, K and V are {names}; they must share one of float32, float16 and bfloat16"
        )
    for name, tensor in (("query", query), ("K", key_cache), ("V", value_cache)):
        if tensor.device != query.device:
            raise ValueError(f"{name} is on {tensor.device}, query on {query.device}")
        if not tensor.is_contiguous():
            raise ValueError(
                f"{name} has the strides {tensor.stride()}, which are not those of a contiguous "
                f"{list(tensor.shape)}; call .contiguous() once, before the launch"
            )
        if tensor.data_ptr() % 16:
            raise ValueError(f"{name} begins at an address that is not a multiple of 16 bytes")


def is_supported(*tensors: torch.Tensor) -> bool:
    """Whether `check_tensors` accepts them."""
    try:
        check_tensors(*tensors)
    except ValueError:
        return False
    return True


def check_metadata(
    metadata: AttentionMetadata, num_tokens: int, num_blocks: int, block_size: int
) -> None:
    """Raises ValueError unless every read and write will be inside the pool and the tables.

    num_blocks: of the whole cache. It uses the numpy arrays that were uploaded, so it does not wait
    for a GPU.
    """
    tables, seq_lens = metadata.on_host("block_tables"), metadata.on_host("seq_lens")
    rows, positions = metadata.on_host("token_rows"), metadata.on_host("positions")
    slots = metadata.on_host("slot_mapping")
    num_rows, width = tables.shape
    if not len(rows) == len(positions) == len(slots) == num_tokens or len(seq_lens) != num_rows:
        raise ValueError(
            f"{num_tokens} tokens need as many rows, positions and slots, not {len(rows)}, "
            f"{len(positions)} and {len(slots)}; {num_rows} tables need as many lengths, "
            f"not {len(seq_lens)}"
        )
    outside = (rows < 0) | (rows >= num_rows)
    if outside.any():
        raise ValueError(f"a token has row {rows[outside][0]}; there are rows 0 to {num_rows - 1}")
    _inside("slot", slots, num_blocks * block_size)
    longest = width * block_size
    for row, length in enumerate(seq_lens.tolist()):
        if not 1 <= length <= longest:
            raise ValueError(
                f"row {row} has {length} tokens; its table of {width} blocks of {block_size} holds "
                f"1 to {longest}"
            )
    too_late = (positions < 0) | (positions >= seq_lens[rows])
    if too_late.any():
        token = int(too_late.argmax())
        position, length = positions[token], seq_lens[rows[token]]
        raise ValueError(f"token {token} is at position {position}; its row has {length} tokens")
    used = np.arange(width) < -(-seq_lens // block_size)[:, None]
    _inside("block", tables[used], num_blocks)


def _inside(what: str, ids: np.ndarray, end: int) -> None:
    outside = (ids < 0) | (ids >= end)
    if outside.any():
        raise ValueError(f"{what} {ids[outside][0]} is not in the pool, which has 0 to {end - 1}")
