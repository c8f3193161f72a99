"""After an exception in the midst of a step: everyone where they belong, every block accounted for.

What an interrupted call has left behind is found by looking at the sequences, which are right at
every moment: a sequence stands in the queue, in the running set, among those who arrive, or, if it
has just fallen between two of these, nowhere. So nothing has to be undone, and nothing logged.

Before changing this file: a fork that waits keeps the blocks that its counter speaks of; whatever
else stands in the table of one that waits, an interrupted `admit` has begun. Blocks that an
interrupted `admit` took from the cache, and counted, are kept so, too: their content is right.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..schedulers import Scheduler
from .arrivals import Arrivals


def settle(
    scheduler: Scheduler, pool: BlockPool, live: Mapping[str, Sequence], arrivals: Arrivals
) -> list[Sequence]:
    """Put queue, running set, arrivals and pool right. Returns who has finished.

    live: all that have not been handed out as completed. Whoever waits gives up the blocks that an
    interrupted `admit` took for it; whoever fell out while it ran waits again, first in line; who
    was lost on the way to the scheduler arrives again.
    """
    running, waiting, arriving = set(scheduler.running), set(scheduler.waiting), set(arrivals)
    for sequence in live.values():
        if sequence in running:
            continue
        if sequence in waiting and not sequence.is_finished:
            del sequence.block_table[-(-sequence.num_computed_tokens // pool.block_size) :]
            continue
        sequence.block_table, sequence.num_computed_tokens = [], 0
        if sequence in arriving or sequence.is_finished:
            continue
        if sequence.first_scheduled_time is None:
            arrivals.add(sequence)
        else:
            scheduler.waiting.appendleft(sequence)
    scheduler.holders[:] = [s for s in scheduler.waiting if s.block_table]
    pool.rebuild(s.block_table for s in (*scheduler.running, *scheduler.waiting))
    finished = [sequence for sequence in live.values() if sequence.is_finished]
    for sequence in finished:
        if sequence in running:
            scheduler.retire([sequence])
        elif sequence in waiting:
            scheduler.waiting.remove(sequence)
    return finished
