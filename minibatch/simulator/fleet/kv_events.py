"""What enters and leaves a replica's prefix cache, as a stream of events.

A router cannot look into a replica. It keeps a set of block hashes for each, and applies events to
it, as llm-d's indexer does with vLLM's KV events. So its knowledge is as old as the last event.
"""

from __future__ import annotations

from ...core.request import Sequence
from ...memory.prefix import PrefixIndex


class WatchedIndex(PrefixIndex):
    """A prefix index that tells what changed. changes: (hash, whether it is cached now), oldest
    first; the reader empties it."""

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.changes: list[tuple[bytes, bool]] = []
        super().__init__(num_blocks, block_size)

    def register(self, sequence: Sequence) -> None:
        before = self._chain(sequence, 0).num_known
        super().register(sequence)
        chain = self._chain(sequence, 0)
        self.changes += [(link.hash, True) for link in chain.links[before : chain.num_known]]

    def forget(self, block_id: int) -> None:
        link = self.link_of(block_id)
        super().forget(block_id)
        if link is not None and link.hash not in self._blocks_of:
            self.changes.append((link.hash, False))
