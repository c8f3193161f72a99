"""A session goes to the same replica, without a table of sessions.

Replicas and sessions are points on one ring of hashes; a session belongs to the next replica
clockwise. A replica that leaves moves only its own sessions. (Karger et al., 1997. Envoy's ring
hash, the `consistent_hash` policy of vllm-router, session routing of vLLM's production stack.)
"""

from __future__ import annotations

import hashlib
from bisect import bisect
from collections.abc import Sequence

from .view import Incoming, ReplicaView, Router


class ConsistentHash(Router):
    """By session; by the first block of the prompt where there is none. It ignores load.

    points: of each replica on the ring; more make the shares more equal.
    """

    def __init__(self, points: int = 100) -> None:
        super().__init__()
        self.points = points
        self._ring: tuple[tuple[int, ...], list[tuple[int, int]]] = (), []

    def choose(self, request: Incoming, views: Sequence[ReplicaView]) -> int:
        numbers = tuple(sorted(view.replica for view in views))
        if self._ring[0] != numbers:
            ring = [(_place(f"{n}/{i}".encode()), n) for n in numbers for i in range(self.points)]
            self._ring = numbers, sorted(ring)
        ring, key = self._ring[1], request.session
        first = request.prefix_hashes[0] if request.prefix_hashes else b""
        return ring[bisect(ring, (_place(first if key is None else key.encode()),)) % len(ring)][1]


def _place(key: bytes) -> int:
    return int.from_bytes(hashlib.sha256(key).digest()[:8])
