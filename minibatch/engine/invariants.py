"""What must hold between any two steps, checked from the outside. For tests and for learners."""

from collections import Counter
from collections.abc import Iterable

from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..schedulers import Scheduler
from .held_blocks import Flight


class InvariantError(AssertionError):
    """Blocks or counters of the engine do not add up."""


def check_invariants(
    pool: BlockPool,
    scheduler: Scheduler,
    live: Iterable[Sequence],
    flights: Iterable[Flight] = (),
) -> None:
    """Raise InvariantError unless every block is either free or held, as often as tables name it,
    every counter is within its bounds, and no step in flight writes into a free block."""

    def require(condition: bool, message: str) -> None:
        if not condition:
            raise InvariantError(message)

    running, waiting = list(scheduler.running), list(scheduler.waiting)
    flights = list(flights)
    tables = [sequence.block_table for sequence in running + waiting]
    tables += [table for flight in flights for table in flight.held]
    held = Counter(block for table in tables for block in table)
    for block in range(pool.num_blocks):
        count = pool.ref_count(block)
        require(
            count == held[block],
            f"block {block} is counted as held {count} times but is in {held[block]} block tables",
        )
    for name, blocks in (written for flight in flights for written in flight.written):
        for block in blocks:
            require(
                pool.ref_count(block) > 0,
                f"block {block} is free, and a step in flight still writes into it for {name!r}",
            )
    require(
        pool.num_free + len(held) == pool.num_blocks,
        f"the pool has {pool.num_blocks} blocks, but {pool.num_free} are free and {len(held)} held",
    )
    require(
        len(running) <= scheduler.max_batch_size,
        f"{len(running)} sequences run; max_batch_size is {scheduler.max_batch_size}",
    )
    names = Counter(id(sequence) for sequence in running + waiting)
    for sequence in running + waiting:
        name = sequence.request_id
        require(names[id(sequence)] == 1, f"request {name!r} is twice in the queue or in the batch")
        require(
            0 <= sequence.num_computed_tokens <= sequence.num_tokens,
            f"request {name!r} has {sequence.num_tokens} tokens, but "
            f"{sequence.num_computed_tokens} count as computed",
        )
        require(
            sequence.is_finished or sequence.num_uncomputed_tokens or sequence.num_in_flight,
            f"request {name!r} is not finished but has nothing left to compute",
        )
        require(
            len(sequence.block_table) * pool.block_size >= sequence.num_launched_tokens,
            f"request {name!r}: {sequence.num_launched_tokens} tokens computed, but only "
            f"{len(sequence.block_table)} blocks of {pool.block_size}",
        )
    for sequence in waiting:
        num_blocks, num_computed = len(sequence.block_table), sequence.num_computed_tokens
        require(
            num_blocks == num_computed == sequence.num_in_flight == 0,
            f"request {sequence.request_id!r} waits, but holds {num_blocks} blocks for "
            f"{num_computed} computed tokens",
        )
    for sequence in live:
        require(
            not sequence.is_finished,
            f"request {sequence.request_id!r} has finished but is still counted as live",
        )
