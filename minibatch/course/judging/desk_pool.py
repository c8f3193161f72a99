"""A learner's block pool at its desk: made, walked through calls, and put into an engine; and what
a learner's engine finds in its prefix cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibatch.course.judging.values import pack, unpack


class PoolDesk:
    """What the judge may ask of a pool. find: looks a name up in the learner's file; describe: an
    exception, as plain data."""

    def __init__(self, find: Callable[[str], Any], describe: Callable[[Exception], dict]) -> None:
        self.find, self.describe = find, describe

    def walk(self, name: str, num_blocks: int, block_size: int, calls: list) -> list[dict]:
        """A new pool, and one call after the other: what each gave or raised, and the books then.

        calls: [method, its argument, packed] each. A call that raises does not end the walk.
        """
        pool, seen = self.find(name)(num_blocks, block_size), []
        for method, argument in calls:
            one: dict[str, object] = {}
            try:
                one["gave"] = pack(getattr(pool, method)(unpack(argument)))
            except Exception as error:
                one["raised"] = self.describe(error)
            one["num_free"] = pack(pool.num_free)
            one["holders"] = [pack(pool.ref_count(block_id)) for block_id in range(num_blocks)]
            seen.append(one)
        return seen

    def run_on(self, name: str, num_blocks: int, block_size: int, requests: list) -> object:
        """Such a pool under an engine: see `tables_of_a_run`."""
        return pack(tables_of_a_run(self.find(name)(num_blocks, block_size), requests))

    def lookups(self, rounds: list, num_blocks: int, block_size: int, weak: bool = False) -> object:
        """What this minibatch's engine finds: see `lookups_of_a_run`. weak: with hashes that do not
        see the order of a block's ids."""
        from minibatch.memory import prefix

        strong = prefix.hash_of
        try:
            if weak:
                prefix.hash_of = lambda parent, ids: strong(parent, sorted(ids))
            return pack(lookups_of_a_run(rounds, num_blocks, block_size))
        finally:
            prefix.hash_of = strong


def tables_of_a_run(pool: Any, requests: list) -> list[dict[str, list[int]]]:
    """Serve requests, [name, tokens of prompt, of answer] each, with one more answer to the first,
    on a pretend model and on this pool; who holds which blocks after each step."""
    import minibatch as mb

    engine = mb.Engine(
        mb.PretendModel(),
        mb.Continuous(3),
        pool=pool,
        attention="reference",  # the others want to store what numba compiles
        clock=mb.VirtualClock(step_time=1),
    )
    for name, length, most in requests:
        engine.add(mb.Request([0] * length, max_tokens=most, request_id=name))
    tables = []
    while engine.has_work:
        engine.step()
        engine.check_invariants()
        if not tables:
            engine.fork(requests[0][0])
        scheduler = engine.scheduler
        holding = [s for s in (*scheduler.running, *scheduler.waiting) if s.block_table]
        tables.append({s.request_id: list(s.block_table) for s in holding})
    return tables


def lookups_of_a_run(rounds: list, num_blocks: int, block_size: int) -> list[tuple]:
    """Serve prompts, [name, token ids, salt] each, those of a round together and one round after
    the other; of every look-up the name, how many tokens were found, why no more, and where."""
    import minibatch as mb

    model = mb.PretendModel()
    model.vocab_size = 10_000
    engine = mb.Engine(
        model,
        mb.Continuous(8),
        num_blocks=num_blocks,
        block_size=block_size,
        prefix_caching=True,
        attention="reference",
        clock=mb.VirtualClock(step_time=1),
    )
    for prompts in rounds:
        engine.run(
            mb.Request(ids, max_tokens=1, request_id=name, cache_salt=salt)
            for name, ids, salt in prompts
        )
        engine.check_invariants()
    shared = [step.sharing for step in engine.trace.steps]
    told = [lookup for sharing in shared for lookup in sharing.lookups]
    return [(one.request_id, one.num_hits, one.miss.reason, one.miss.at) for one in told]
