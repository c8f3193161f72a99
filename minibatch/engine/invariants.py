"""What must hold between any two steps, checked from the outside. For tests and for learners."""

from collections import Counter
from collections.abc import Iterable

from ..core.request import Sequence
from ..memory.blocks import BlockPool
from ..schedulers import Scheduler


class InvariantError(AssertionError):
    """The engine's books do not add up."""


def check_invariants(pool: BlockPool, scheduler: Scheduler, live: Iterable[Sequence]) -> None:
    """Every block is free or held, never both, as often as tables say; counters stay in bounds."""

    def require(condition: bool, message: str) -> None:
        if not condition:
            raise InvariantError(message)

    running, waiting = list(scheduler.running), list(scheduler.waiting)
    held = Counter(block for sequence in running + waiting for block in sequence.block_table)
    held.update(source for source, _ in pool.copies_owed)
    for block in range(pool.num_blocks):
        count = pool.ref_count(block)
        require(
            count == held[block],
            f"block {block} is counted {count} times but stands in {held[block]} block tables",
        )
    require(
        pool.num_free + len(held) == pool.num_blocks,
        f"{pool.num_free} free + {len(held)} held blocks are not the pool's {pool.num_blocks}",
    )
    require(
        len(running) <= scheduler.max_batch_size,
        f"{len(running)} sequences run; max_batch_size is {scheduler.max_batch_size}",
    )
    names = Counter(id(sequence) for sequence in running + waiting)
    for sequence in running + waiting:
        name = sequence.request_id
        require(names[id(sequence)] == 1, f"request {name!r} stands in the queue or batch twice")
        require(
            0 <= sequence.num_computed_tokens <= sequence.num_tokens,
            f"request {name!r} has {sequence.num_tokens} tokens, and "
            f"{sequence.num_computed_tokens} count as computed",
        )
        require(
            sequence.is_finished or sequence.num_uncomputed_tokens > 0,
            f"request {name!r} is not finished but has nothing left to compute",
        )
        require(
            len(sequence.block_table) * pool.block_size >= sequence.num_computed_tokens,
            f"request {name!r}: {sequence.num_computed_tokens} tokens computed, but only "
            f"{len(sequence.block_table)} blocks of {pool.block_size}",
        )
    for sequence in waiting:
        num_blocks, num_computed = len(sequence.block_table), sequence.num_computed_tokens
        require(
            num_blocks == -(-num_computed // pool.block_size)
            and (not num_blocks or sequence in scheduler.holders),
            f"request {sequence.request_id!r} waits, yet holds {num_blocks} blocks for "
            f"{num_computed} computed tokens",
        )
    for sequence in live:
        require(
            not sequence.is_finished,
            f"request {sequence.request_id!r} has finished but is still counted as live",
        )
