"""The K and V tensors of every layer: the memory that `BlockPool` hands out ids for."""

import torch

from .available import available_bytes

UNKNOWN_BYTES = 2 * 10**9


class KVCache:
    """K and V, each a list of one tensor per layer:

        [num_blocks + 1, block_size, kv_heads, head_dim]

    The last block is in no table: padding tokens write their K and V there (`scratch_slot`).
    A token's *slot* is its place in the flat pool: block id * block_size + offset in the block.
    kv_shapes: (kv_heads, head_dim) of each layer, as the model's own tensors showed them.
    Raises MemoryError, and has taken nothing, if they would not fit.
    """

    def __init__(
        self,
        kv_shapes: list[tuple[int, int]],
        num_blocks: int,
        block_size: int,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        needed = (num_blocks + 1) * block_size * bytes_per_token(kv_shapes, dtype)
        if needed > (free := free_bytes(device)):
            raise MemoryError(
                f"{num_blocks:,} KV blocks of {block_size:,} tokens take {needed / 1e9:,.1f} GB, "
                f"and only {free / 1e9:,.1f} GB are free: lower num_blocks or block_size"
            )

        def empty(kv_heads: int, head_dim: int) -> torch.Tensor:
            shape = (num_blocks + 1, block_size, kv_heads, head_dim)
            return torch.zeros(shape, device=device, dtype=dtype)  # zeros: masked slots stay finite

        self.keys = [empty(*shape) for shape in kv_shapes]
        self.values = [empty(*shape) for shape in kv_shapes]
        self.scratch_slot = num_blocks * block_size

    def write(
        self, layer: int, key: torch.Tensor, value: torch.Tensor, slot_mapping: torch.Tensor
    ) -> None:
        """Store the new tokens.

        key, value: [tokens, kv_heads, head_dim]; slot_mapping: int64 [tokens].
        Raises IndexError for a slot outside the pool (`index_copy_` checks; plain indexing with a
        negative slot would overwrite another sequence without a word).
        """
        self.keys[layer].flatten(0, 1).index_copy_(0, slot_mapping, key)
        self.values[layer].flatten(0, 1).index_copy_(0, slot_mapping, value)


def free_bytes(device: torch.device) -> int:
    """Bytes of memory for new tensors; 2 GB where the system does not say."""
    if device.type != "cuda":
        available = available_bytes()
        return UNKNOWN_BYTES if available is None else available
    kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)  # by torch
    return torch.cuda.mem_get_info(device)[0] + kept


def bytes_per_token(kv_shapes: list[tuple[int, int]], dtype: torch.dtype) -> int:
    """Bytes of one token in all layers: 2 (K and V) * sum of kv_heads * head_dim * itemsize."""
    return 2 * sum(heads * dim for heads, dim in kv_shapes) * dtype.itemsize
