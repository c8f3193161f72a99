"""Each token's row, position and slot in a flattened batch: what attention needs besides q, k, v.

Rows of different lengths are laid end to end, without a batch dimension:

    row             0 0 0 0 | 1 | 2 2 |
    query_start_loc 0         4   5     7          row i is tokens [start[i], start[i + 1])
    positions       0 1 2 3   9   4 5              absolute: a token at p sees 0 .. p of its row
    seq_lens        4         10  6                tokens in the cache, the new ones included
    slot_mapping    where each new token's K and V go in the flat pool
    block_tables    [rows, widest table], padded with 0: the blocks that each row reads
"""

from dataclasses import dataclass, field

import numpy as np
import torch

from ..core.plan import Row, StepPlan
from ..core.request import Sequence


@dataclass
class AttentionMetadata:
    """Shapes: T tokens, R rows. Tensors are on the model's device.

    query_start_loc: int32 [R + 1]; seq_lens: int32 [R]; block_tables: int32 [R, width];
    token_rows: int32 [T], the row of each token; positions, slot_mapping: int64 [T]. As Python
    ints, for loops over rows: rows, (start, end, seq_len) of each; num_computed_tokens, how many
    were in the cache before. uploaded: the arrays that the tensors were made of, by name.
    """

    query_start_loc: torch.Tensor
    seq_lens: torch.Tensor
    block_tables: torch.Tensor
    token_rows: torch.Tensor
    positions: torch.Tensor
    slot_mapping: torch.Tensor
    rows: list[tuple[int, int, int]]
    num_computed_tokens: list[int]
    uploaded: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def on_host(self, name: str) -> np.ndarray:
        """One of the tensors, as numpy. It is the array that was uploaded, so reading it does not
        wait for the device; metadata made in another way is copied from the device."""
        if name not in self.uploaded:
            self.uploaded[name] = getattr(self, name).cpu().numpy()
        return self.uploaded[name]


def slot_mapping(block_table: np.ndarray, positions: np.ndarray, block_size: int) -> np.ndarray:
    """Where each token's K and V live in the flat pool.

    block_table: int32 [blocks of this sequence]; positions: int64 [tokens], absolute.
    Returns int64 [tokens]: block_table[p // block_size] * block_size + p % block_size.
    Raises IndexError if a position is past the last block. (Kwon et al., 2023, section 4.2)
    """
    return block_table[positions // block_size] * np.int64(block_size) + positions % block_size


def build_metadata(
    plan: StepPlan, block_size: int, scratch_slot: int, device: torch.device
) -> tuple[torch.Tensor, AttentionMetadata]:
    """Flatten a plan: (input_ids int64 [T], metadata). Padding tokens go to `scratch_slot`. The
    id of a token in flight is 0 here (`places_in_flight`)."""
    num_rows = len(plan.rows)
    lengths = [row.num_written + row.num_padding_tokens for row in plan.rows]
    seq_lens = [row.start + row.num_written for row in plan.rows]
    starts = np.zeros(num_rows + 1, dtype=np.int32)
    np.cumsum(lengths, out=starts[1:])
    num_tokens = int(starts[-1])

    input_ids = np.zeros(num_tokens, dtype=np.int64)
    positions = np.empty(num_tokens, dtype=np.int64)
    slots = np.full(num_tokens, scratch_slot, dtype=np.int64)
    width = max(len(row.sequence.block_table) for row in plan.rows)
    block_tables = np.zeros((num_rows, width), dtype=np.int32)

    for i, row in enumerate(plan.rows):
        sequence, begin = row.sequence, starts[i]
        computed, seq_len = row.start, seq_lens[i]
        known_ids = sequence.token_ids[computed : row.seq_len]  # without one that is in flight
        known, end = begin + row.num_tokens, begin + row.num_written
        table = block_tables[i, : len(sequence.block_table)]
        table[:] = sequence.block_table
        input_ids[begin : begin + len(known_ids)] = known_ids
        input_ids[known:end] = row.draft
        positions[begin:end] = np.arange(computed, seq_len)
        slots[begin:end] = slot_mapping(table, positions[begin:end], block_size)
        if row.num_padding_tokens and not has_token_in_flight(row):  # it repeats the last token
            input_ids[end : starts[i + 1]] = sequence.token_ids[row.seq_len - 1]
        positions[end : starts[i + 1]] = seq_len - 1

    def to_device(array: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(array).to(device, non_blocking=True)

    arrays = {
        "query_start_loc": starts,
        "seq_lens": np.array(seq_lens, dtype=np.int32),
        "block_tables": block_tables,
        "token_rows": np.repeat(np.arange(num_rows, dtype=np.int32), lengths),
        "positions": positions,
        "slot_mapping": slots,
    }
    metadata = AttentionMetadata(
        **{name: to_device(array) for name, array in arrays.items()},
        rows=list(zip(starts[:-1].tolist(), starts[1:].tolist(), seq_lens, strict=True)),
        num_computed_tokens=[row.start for row in plan.rows],
        uploaded=arrays,
    )
    return to_device(input_ids), metadata


def has_token_in_flight(row: Row) -> bool:
    """Whether the row's last token is still in flight (engine/overlap.py): the step before samples
    it."""
    return row.seq_len > row.sequence.num_tokens


def places_in_flight(plan: StepPlan) -> list[tuple[int, Sequence]]:
    """Which input ids of a plan the step before samples: (index in input_ids, whose token) of each
    token in flight, and of the padding that repeats it."""
    places, start = [], 0
    for row in plan.rows:
        end = start + row.num_written + row.num_padding_tokens
        if has_token_in_flight(row):
            places += [(i, row.sequence) for i in range(start + row.num_tokens - 1, end)]
        start = end
    return places
