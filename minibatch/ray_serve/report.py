"""What a replica reports of itself, so that a router can choose.

Ray fetches it and brings it to each router: what a router reads is a second or two old.
"""

from __future__ import annotations

import time

from ..core.request import Sequence
from ..engine.engine import Engine

MOST_CACHED = 4096  # hashes of cached blocks in a report, 32 bytes each


def report(engine: Engine) -> dict[str, object]:
    """The fields of a `ReplicaView` that a replica knows, and the time. Call it between two steps.

    time: seconds since the epoch; the clocks of a cluster's computers differ by milliseconds.
    """
    scheduler, pool, prefixes = engine.scheduler, engine.pool, engine.pool.prefixes
    cached: list[bytes] = []
    if prefixes is not None:
        cached = list({prefixes.link_of(block).hash for block in prefixes})[-MOST_CACHED:]
    left = sum(_uncached(sequence, engine) for sequence in scheduler.waiting)
    left += sum(_uncomputed(sequence) for sequence in scheduler.running)
    return {
        "time": time.time(),
        "num_running": len(scheduler.running),
        "num_waiting": len(scheduler.waiting),
        "max_running": scheduler.max_batch_size,
        "num_uncached_tokens": left,
        "kv_use": 1 - pool.num_free / pool.num_blocks,
        "cached": cached,
        "block_size": pool.block_size,
    }


def _uncomputed(sequence: Sequence) -> int:
    return max(0, sequence.num_prompt_tokens - sequence.num_computed_tokens)


def _uncached(sequence: Sequence, engine: Engine) -> int:
    prefixes = engine.pool.prefixes
    found = 0 if prefixes is None else len(prefixes.find(sequence)) * engine.pool.block_size
    return max(0, _uncomputed(sequence) - found)
