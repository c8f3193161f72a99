"""After an exception in the midst of a step: everyone where they belong, every block accounted for.

What an interrupted call has left behind is found by looking at the sequences, which are right at
every moment: a sequence stands in the queue, in the running set, among those who arrive, or, if it
has just fallen between two of these, nowhere. So nothing has to be undone, and nothing logged.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..schedulers import Scheduler


def settle(
    scheduler: Scheduler, pool: BlockPool, live: Iterable[Sequence], arrivals: Iterable[Sequence]
) -> tuple[list[Sequence], list[Sequence]]:
    """Put queue, running set and pool right. Returns (who has finished, who has to arrive again).

    live: all that have not been handed out as completed. Whoever waits gives up the blocks that an
    interrupted `admit` took for it; whoever fell out while it ran waits again, first in line.
    """
    live = list(live)
    running, waiting, arriving = set(scheduler.running), set(scheduler.waiting), set(arrivals)
    lost = []
    for sequence in live:
        if sequence in running:
            continue
        sequence.block_table, sequence.num_computed_tokens = [], 0
        if sequence in waiting or sequence in arriving or sequence.is_finished:
            continue
        if sequence.first_scheduled_time is None:
            lost.append(sequence)
        else:
            scheduler.waiting.appendleft(sequence)
    pool.rebuild(s.block_table for s in (*scheduler.running, *scheduler.waiting))
    finished = [sequence for sequence in live if sequence.is_finished]
    for sequence in finished:
        if sequence in running:
            scheduler.retire([sequence])
        elif sequence in waiting:
            scheduler.waiting.remove(sequence)
    return finished, lost
