"""One block, several holders: taken from the cache, forked, and copied by whoever writes first.

    fork        t t t | t t .      both tables name both blocks; the second is partial
    write       t t t | t t x      whoever writes takes a block of its own, and the copy is owed

A copy is owed, and its source held, from the plan that needs it until the step has gone through
(`confirm`): a step that failed is planned again, and copies again. Before changing this file: what
is done here may be interrupted between any two lines, and the books be written anew from the tables
(`BlockPool.rebuild`); so a copy is owed before a table names its target, and a table is filled
before the counter says so.
"""

from collections import Counter

from ..core.plan import StepPlan
from ..core.records import SharingRecord
from ..core.request import Sequence
from .blocks import BlockPool


def take_prefix(pool: BlockPool, sequence: Sequence) -> None:
    """Hold the cached blocks that begin with its tokens, and count these as computed. A sequence
    that holds blocks already keeps to them."""
    if pool.prefixes is None or sequence.block_table:
        return
    found = pool.prefixes.find(sequence)
    pool.prefixes.note(sequence, len(found))
    pool.share(found)
    sequence.block_table = found
    sequence.num_computed_tokens = len(found) * pool.block_size


def take_fork(pool: BlockPool, sequence: Sequence, parent: Sequence) -> None:
    """Hold the parent's blocks of their common prompt, as far as it is computed, but for the
    prompt's last token: its logits are the first thing that `sequence` needs."""
    num_tokens = min(sequence.num_prompt_tokens - 1, parent.num_computed_tokens)
    shared = parent.block_table[: -(-num_tokens // pool.block_size)]
    pool.share(shared)
    sequence.block_table = shared
    sequence.num_computed_tokens = num_tokens


def num_lacking(pool: BlockPool, sequence: Sequence, num_tokens: int) -> int:
    """Free blocks that it takes to compute `num_tokens` more tokens: those past the end of its
    table, and one for each that it would write while others hold it. Of one that waits, blocks that
    the cache holds, and somebody else besides, cost nothing."""
    lacking = sequence.num_new_blocks(num_tokens, pool.block_size)
    if sequence.block_table:
        return lacking + len(_shared(pool, sequence, num_tokens)) if pool.num_shared else lacking
    if pool.prefixes is None:
        return lacking
    held = [block_id for block_id in pool.prefixes.find(sequence) if pool.ref_count(block_id)]
    return max(0, lacking - len(held))


def num_given_up(pool: BlockPool, holders: list[Sequence], sequence: Sequence) -> int:
    """Blocks that would come free if these gave up theirs; less those that `sequence`, which waits,
    finds in the cache: it would hold them then, and `num_lacking` has counted them already."""
    held = Counter(block_id for one in holders for block_id in one.block_table)
    if pool.prefixes is not None and not sequence.block_table:
        for block_id in pool.prefixes.find(sequence):
            held.pop(block_id, None)
    return sum(pool.ref_count(block_id) == times for block_id, times in held.items())


def copy_on_write(pool: BlockPool, sequence: Sequence, num_tokens: int) -> None:
    """Give it blocks of its own for those that it would write while others hold them."""
    for i in _shared(pool, sequence, num_tokens):
        source = sequence.block_table[i]
        (target,) = pool.allocate(1)
        pool.copies_owed.append((source, target))  # the hold on the source is now the copy's
        sequence.block_table[i] = target


def confirm(pool: BlockPool, copies: list[tuple[int, int]]) -> None:
    """These were made, in a step that has gone through: their sources need not be held for them."""
    for copy in copies:
        if copy in pool.copies_owed:
            pool.copies_owed.remove(copy)
            pool.free([copy[0]])


def make_known(pool: BlockPool, plan: StepPlan) -> None:
    """What the rows of a step that has gone through have computed can be found from now on."""
    if pool.prefixes is not None:
        for row in plan.rows:
            if row.sequence.block_table:  # who has left has told it then
                pool.prefixes.register(row.sequence)


def sharing_record(pool: BlockPool, plan: StepPlan) -> SharingRecord | None:
    """What a step has shared; None where nothing is. Each look-up and eviction is told once."""
    index = pool.prefixes
    if index is None and not plan.copies and not pool.num_shared:
        return None
    lookups, num_evicted = index.news() if index is not None else ((), 0)
    return SharingRecord(lookups, num_evicted, len(plan.copies), pool.num_shared, pool.num_cached)


def give_up(pool: BlockPool, sequence: Sequence) -> None:
    """Take its blocks back, and let go of copies into them."""
    if pool.prefixes is not None:
        pool.prefixes.leave(sequence)
    table = sequence.block_table
    if pool.copies_owed:
        confirm(pool, [copy for copy in pool.copies_owed if copy[1] in table])
    pool.free(table)
    sequence.block_table = []


def _shared(pool: BlockPool, sequence: Sequence, num_tokens: int) -> list[int]:
    """Places in its table that the next `num_tokens` tokens go to, and that others hold too."""
    if num_tokens < 1:
        return []
    first = sequence.num_computed_tokens // pool.block_size
    end = -(-(sequence.num_computed_tokens + num_tokens) // pool.block_size)
    table = sequence.block_table
    return [i for i in range(first, min(end, len(table))) if not pool.is_sole_holder(table[i])]
