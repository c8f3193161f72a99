"""Which thread block reads what: a batch's contexts in chunks of like size, cut on the host.

One row of 32,768 tokens among 63 of 512 is half of all the work; left whole, or cut into as many
parts as its neighbours, it is still running when all else is done. So contexts are cut by length.
"""

from dataclasses import dataclass

import numpy as np

from ..metadata import AttentionMetadata

LEAST_OF_A_CHUNK = 256  # tokens: less is not worth a merge
SHARES = 4  # chunks for each place: whoever is last is at most a quarter late


@dataclass(frozen=True)
class WorkList:
    """chunks: int32 [n, 5], row, first new token, how many of them, begin, end. merges: int32
    [m, 4], for each token its place among those of its chunks, first chunk, past the last."""

    chunks: np.ndarray
    merges: np.ndarray

    @property
    def is_split(self) -> bool:
        """Whether any token's context is in several chunks."""
        return len(self.chunks) > 0 and bool((self.merges[:, 3] - self.merges[:, 2] > 1).any())


def plan_chunks(
    metadata: AttentionMetadata, rows: list[int], together: int, num_places: int, kernel: str
) -> WorkList:
    """rows: those to be worked on. together: new tokens of a row that share a chunk. num_places:
    chunks that the machine works on at a time. kernel: "tiled" cuts nothing, "split" everything."""
    positions = metadata.on_host("positions").tolist()
    works = []  # context, row, first new token, past the last
    for row in rows:
        start, end, _ = metadata.rows[row]
        for first in range(start, end, together):
            last = min(first + together, end)
            works.append((max(positions[first:last]) + 1, row, first, last))
    works.sort(key=lambda work: -work[0])  # the longest first: what comes last should be short
    most = _most_tokens([context for context, *_ in works], num_places)
    chunks, merges = [], []
    for context, row, first, last in works:
        parts = 1 if kernel == "tiled" else -(-context // most)
        size = -(-context // (max(parts, 2) if kernel == "split" else parts))
        begins = range(0, context, size)
        own = len(chunks), len(chunks) + len(begins)
        merges += [(token, token - first, *own) for token in range(first, last)]
        chunks += [(row, first, last - first, b, min(b + size, context)) for b in begins]
    return WorkList(
        np.array(chunks, np.int32).reshape(-1, 5), np.array(merges, np.int32).reshape(-1, 4)
    )


def most_chunks(num_rows: int, longest: int, num_places: int, kernel: str) -> int:
    """That `plan_chunks` makes of so many rows of one new token, none of a context over longest."""
    if kernel == "tiled":
        return num_rows
    cuts = min(SHARES * max(1, num_places), num_rows * longest // LEAST_OF_A_CHUNK)
    return num_rows * (2 if kernel == "split" else 1) + cuts


def _most_tokens(contexts: list[int], num_places: int) -> int:
    """Of a chunk. At best all places are done at once, after sum / num_places tokens each; whoever
    takes the next chunk when it is free ends no later than that and one chunk more."""
    return max(LEAST_OF_A_CHUNK, -(-sum(contexts) // (SHARES * max(1, num_places))))
