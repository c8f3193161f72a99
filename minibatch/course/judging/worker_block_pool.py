"""A learner's block pool in the worker: made, called method by method, and used in an engine; and
the lookups of a learner's engine in its prefix cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibatch.course.judging.values import pack, unpack


class PoolWorker:
    """The judge's requests for a pool. find: looks up a name in the learner's file; describe: turns
    an exception into plain data."""

    def __init__(self, find: Callable[[str], Any], describe: Callable[[Exception], dict]) -> None:
        self.find, self.describe = find, describe

    def call_methods(self, name: str, num_blocks: int, block_size: int, calls: list) -> list[dict]:
        """Make a new pool and call its methods in order: each result or error, and the state then.

        calls: [method, its argument, packed] each. A call that raises does not end the sequence.
        Each result also as it is after all calls, as "later".
        """
        pool, seen, given = self.find(name)(num_blocks, block_size), [], []
        for method, argument in calls:
            one: dict[str, object] = {}
            try:
                gave = getattr(pool, method)(unpack(argument))
                one["gave"] = pack(gave)
                given.append((one, gave))
            except Exception as error:
                one["raised"] = self.describe(error)
            one["num_free"] = pack(pool.num_free)
            one["holders"] = [pack(pool.ref_count(block_id)) for block_id in range(num_blocks)]
            seen.append(one)
        for one, gave in given:
            one["later"] = pack(gave)
        return seen

    def run_engine(self, name: str, num_blocks: int, block_size: int, requests: list) -> object:
        """Run an engine with such a pool: see `tables_of_a_run`."""
        return pack(tables_of_a_run(self.find(name)(num_blocks, block_size), requests))

    def lookups(self, rounds: list, num_blocks: int, block_size: int, weak: bool = False) -> object:
        """The lookups of this minibatch's engine: see `lookups_of_a_run`. weak: with hashes that do
        not depend on the order of a block's ids."""
        from minibatch.memory import prefix

        strong = prefix.hash_of
        try:
            if weak:
                prefix.hash_of = lambda parent, ids: strong(parent, sorted(ids))
            return pack(lookups_of_a_run(rounds, num_blocks, block_size))
        finally:
            prefix.hash_of = strong


def tables_of_a_run(pool: Any, requests: list) -> list[dict[str, list[int]]]:
    """Serve requests, [name, prompt tokens, answer tokens] each, with a second answer to the first,
    with a pretend model and this pool. Returns {name: block table} after each step."""
    import minibatch as mb

    engine = mb.Engine(
        mb.PretendModel(),
        mb.Continuous(3),
        pool=pool,
        attention="reference",  # the others store compiled code on disk
        clock=mb.VirtualClock(step_time=1),
    )
    first, *others = [
        mb.Request([0] * length, max_tokens=most, request_id=name)
        for name, length, most in requests
    ]
    engine.add(first)
    tables = []
    while engine.has_work:
        engine.step()
        engine.check_invariants()
        if not tables:
            engine.fork(first.request_id)  # before the others: its parent runs when it is admitted
            for request in others:
                engine.add(request)
        scheduler = engine.scheduler
        holding = [s for s in (*scheduler.running, *scheduler.waiting) if s.block_table]
        tables.append({s.request_id: list(s.block_table) for s in holding})
    return tables


def lookups_of_a_run(rounds: list, num_blocks: int, block_size: int) -> list[tuple]:
    """Serve prompts, [name, token ids, salt] each, round by round. Returns for every lookup: the
    name, the number of tokens found, why there were not more, and where."""
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
    lookups = [lookup for sharing in shared for lookup in sharing.lookups]
    return [(one.request_id, one.num_hits, one.miss.reason, one.miss.at) for one in lookups]
