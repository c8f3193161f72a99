"""After an exception inside the engine: one rule, whatever was interrupted.

Every unfinished request that ran goes back to the head of the queue, in order of admission. It
keeps its tokens and loses its blocks. Every block is free, and the prefix cache is empty. So no
counter, table or block that an interrupted call has left half changed is ever used. The price: the
K and V of all running requests are computed again.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..schedulers import Scheduler
from .arrivals import Arrivals
from .trace import Trace


def recover(
    scheduler: Scheduler,
    pool: BlockPool,
    live: Mapping[str, Sequence],
    arrivals: Arrivals,
    trace: Trace,
) -> list[Sequence]:
    """Put queue, running list, arrivals and pool into a state to go on from, and tell the trace
    which requests are back in the queue. Returns the sequences that have finished.

    live: all sequences without a completion. An interrupted call may have removed a sequence from
    one list and not yet put it into the next. If it was admitted before, it counts as running; if
    not, it arrives again.
    """
    unfinished = [sequence for sequence in live.values() if not sequence.is_finished]
    listed = {*scheduler.running, *scheduler.waiting, *arrivals}
    lost = [sequence for sequence in unfinished if sequence not in listed]
    admitted = [sequence for sequence in lost if sequence.first_scheduled_time is not None]
    ran = [s for s in (*scheduler.running, *admitted) if not s.is_finished]
    queue = dict.fromkeys((*ran, *scheduler.waiting))  # each once
    for sequence in (*scheduler.running, *live.values()):
        computed = sequence.num_computed_tokens
        sequence.num_once_computed = max(sequence.num_once_computed, computed)
        sequence.block_table, sequence.num_computed_tokens, sequence.num_in_flight = [], 0, 0
    scheduler.running.clear()
    scheduler.waiting.clear()
    scheduler.waiting.extend(sequence for sequence in queue if not sequence.is_finished)
    pool.reset()
    for sequence in lost:
        if sequence.first_scheduled_time is None:
            arrivals.add(sequence)
    trace.requeue(ran)
    finished = [sequence for sequence in live.values() if sequence.is_finished]
    return sorted(finished, key=trace.is_not_newest)  # the end that was being recorded comes first


def forget(
    scheduler: Scheduler,
    pool: BlockPool,
    live: dict[str, Sequence],
    arrivals: Arrivals,
    now: float,
) -> None:
    """Abort every request at the time `now`, and empty queue, running list, arrivals and pool."""
    for sequence in live.values():
        sequence.abort_time, sequence.block_table = now, []
    for each in (scheduler.waiting, scheduler.running, live, arrivals):
        each.clear()
    pool.reset()
