"""Which thread block reads which tokens: contexts cut on the host into chunks of similar size.

One row of 32,768 tokens among 63 of 512 is half of all the work. If it is not cut, or cut into as
many parts as the other rows, it still runs when all others are done. So contexts are cut by length.
"""

from dataclasses import dataclass

import numpy as np

from ..metadata import AttentionMetadata

LEAST_LIMIT = 128  # of a chunk, in tokens: below it, merging would cost more than it saves
SHARES = 4  # chunks for each place: the last chunk adds at most a quarter to the time


@dataclass(frozen=True)
class WorkList:
    """chunks: int32 [n, 5]: row, first new token, number of new tokens, begin, end of the context.
    merges: int32 [m, 4]: token, its place in its chunks, first chunk, last chunk + 1."""

    chunks: np.ndarray
    merges: np.ndarray

    @property
    def is_split(self) -> bool:
        """Whether any token's context is in several chunks."""
        return len(self.chunks) > 0 and bool((self.merges[:, 3] - self.merges[:, 2] > 1).any())


def plan_chunks(
    metadata: AttentionMetadata, rows: list[int], together: int, num_places: int, kernel: str
) -> WorkList:
    """rows: the rows to compute. together: new tokens of a row that share a chunk. num_places:
    chunks that the GPU computes at a time. kernel: "tiled" cuts no context, "split" cuts all."""
    positions = metadata.on_host("positions").tolist()
    works = []  # context, row, first new token, past the last
    for row in rows:
        start, end, _ = metadata.rows[row]
        for first in range(start, end, together):
            last = min(first + together, end)
            works.append((max(positions[first:last]) + 1, row, first, last))
    works.sort(key=lambda work: -work[0])  # the longest first, so that the last ones are short
    most = _most_tokens([context for context, *_ in works], num_places)
    chunks, merges = [], []
    for context, row, first, last in works:
        parts = 1 if kernel == "tiled" else min(-(-context // most), max(1, num_places))
        size = -(-context // (max(parts, 2) if kernel == "split" else parts))
        begins = range(0, context, size)
        own = len(chunks), len(chunks) + len(begins)
        merges += [(token, token - first, *own) for token in range(first, last)]
        chunks += [(row, first, last - first, b, min(b + size, context)) for b in begins]
    return WorkList(
        np.array(chunks, np.int32).reshape(-1, 5), np.array(merges, np.int32).reshape(-1, 4)
    )


def most_chunks(num_rows: int, longest: int, num_places: int, kernel: str) -> int:
    """The most chunks that `plan_chunks` makes for num_rows rows of one new token each, with
    contexts of at most `longest` tokens."""
    if kernel == "tiled":
        return num_rows
    cuts = min(max(1, num_places) * min(SHARES, num_rows), num_rows * longest // LEAST_LIMIT)
    return num_rows * (2 if kernel == "split" else 1) + cuts


def _most_tokens(contexts: list[int], num_places: int) -> int:
    """The most tokens of a chunk. In the best case all places end together, after `ideal` tokens
    each. A place that takes the next chunk when it is free ends at most one chunk later. A limit
    below 2 * LEAST_LIMIT is set only to give every place a chunk."""
    ideal = -(-sum(contexts) // max(1, num_places))
    return max(LEAST_LIMIT, min(ideal, 2 * LEAST_LIMIT), -(-ideal // SHARES))
