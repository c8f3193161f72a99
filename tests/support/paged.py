"""Random paged caches for attention: scattered blocks, ragged rows, and nothing else written."""

from dataclasses import dataclass

import numpy as np
import torch

from minibatch.attention.metadata import AttentionMetadata, slot_mapping

KERNELS = ["simple", "tiled", "split"]


@dataclass
class Paged:
    """What an attention function is called with. owned: the slots that belong to a row, [slots]."""

    query: torch.Tensor
    key_cache: torch.Tensor
    value_cache: torch.Tensor
    metadata: AttentionMetadata
    scale: float
    owned: np.ndarray

    @property
    def arguments(self):
        return self.query, self.key_cache, self.value_cache, self.metadata, self.scale


def metadata_of(rows, tables, block_size, device="cpu"):
    """rows: (new tokens, length) of each; tables: a list of block ids of each."""
    new = np.array([n for n, _ in rows])
    lengths = np.array([length for _, length in rows])
    starts = np.concatenate([[0], np.cumsum(new)]).astype(np.int32)
    positions = [np.arange(length - n, length) for n, length in rows]
    padded = np.zeros((len(rows), max(map(len, tables))), np.int32)
    for row, table in enumerate(tables):
        padded[row, : len(table)] = table
    token_rows = np.repeat(np.arange(len(rows), dtype=np.int32), new)
    slots = [slot_mapping(padded[i], p, block_size) for i, p in enumerate(positions)]
    return AttentionMetadata(
        query_start_loc=torch.from_numpy(starts).to(device),
        seq_lens=torch.from_numpy(lengths.astype(np.int32)).to(device),
        block_tables=torch.from_numpy(padded).to(device),
        token_rows=torch.from_numpy(token_rows).to(device),
        positions=torch.from_numpy(np.concatenate(positions)).to(device),
        slot_mapping=torch.from_numpy(np.concatenate(slots)).to(device),
        rows=[(int(starts[i]), int(starts[i + 1]), int(n)) for i, n in enumerate(lengths)],
        num_computed_tokens=(lengths - new).tolist(),
    )


def paged(
    seed,
    rows,
    *,
    heads=4,
    kv_heads=2,
    head_dim=16,
    block_size=4,
    dtype=torch.float32,
    shared_blocks=0,
    spare=3,
    device="cpu",
):
    """rows: (new tokens, length) of each. shared_blocks: full ones that all rows begin with.

    What belongs to nobody is NaN, so that whoever reads it shows it.
    """
    rng = np.random.default_rng(seed)
    needs = [-(-length // block_size) for _, length in rows]
    common = min(shared_blocks, *(length // block_size for _, length in rows))
    ids = rng.permutation(common + sum(n - common for n in needs) + spare).tolist()
    first, ids = ids[:common], ids[common:]
    tables = [first + [ids.pop() for _ in range(n - common)] for n in needs]
    num_blocks = max(max(table) for table in tables) + 1 + spare
    owned = np.zeros(num_blocks * block_size, bool)
    for (_, length), table in zip(rows, tables, strict=True):
        owned[slot_mapping(np.array(table), np.arange(length), block_size)] = True
    generator = torch.Generator().manual_seed(seed)

    def cache():
        values = torch.randn(
            len(owned), kv_heads, head_dim, generator=generator, dtype=torch.float32
        )
        values[torch.from_numpy(~owned)] = float("nan")
        return values.unflatten(0, (num_blocks, block_size)).to(device, dtype)

    num_tokens = sum(n for n, _ in rows)
    query = torch.randn(num_tokens, heads, head_dim, generator=generator)
    return Paged(
        query.to(device, dtype),
        cache(),
        cache(),
        metadata_of(rows, tables, block_size, device),
        head_dim**-0.5,
        owned,
    )


def exact(case):
    """The definition, in float64."""
    query, keys, values, metadata, scale = case.arguments
    output = torch.empty(query.shape, dtype=torch.float64)
    group = query.shape[1] // keys.shape[2]
    for token in range(len(query)):
        row, context = int(metadata.token_rows[token]), int(metadata.positions[token]) + 1
        table = metadata.block_tables[row].long().cpu()
        key, value = (
            cache.cpu()[table].flatten(0, 1)[:context].double().repeat_interleave(group, 1)
            for cache in (keys, values)
        )
        scores = torch.einsum("hd,khd->hk", query[token].cpu().double(), key) * scale
        output[token] = torch.einsum("hk,khd->hd", scores.softmax(-1), value)
    return output
