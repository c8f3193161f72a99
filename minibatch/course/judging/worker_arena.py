"""A submission of the arena in the worker: a policy that plans step by step, or a router.

A policy here has sequences, a pool and a clock of its own, which are copies. What it does to block
tables is noted, call by call, and sent to the judge, which does the same to the true ones
(course/arena/remote.py). The lengths of answers are not in this process.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from minibatch.course.judging.worker_router import RouterWorker


class ArenaWorker:
    """The judge's requests in a match. find: looks up a name in the submission."""

    def __init__(self, find: Callable[[str], Any]) -> None:
        self._find = find
        self._sequences: dict[str, Any] = {}
        self._router, self._route = RouterWorker(), None

    def arena_policy(
        self, sizes: list[int], num_blocks: int, block_size: int, stop_token_id: int
    ) -> dict:
        """Make a policy for a new match, and bind it to a pool and a clock of its own."""
        import minibatch as mb
        from minibatch.memory.prefix import PrefixIndex

        scheduler = self._find("make_policy")(*sizes)
        if not isinstance(scheduler, mb.Scheduler):
            raise TypeError(
                f"[no_policy] make_policy returned a {type(scheduler).__name__}; return a "
                "policy, such as mb.Budget(max_batch_size, max_batch_tokens)"
            )
        self._clock, self._stop = mb.VirtualClock(), frozenset([stop_token_id])
        pool = mb.BlockPool(num_blocks, block_size)
        scheduler.bind(pool, self._clock)
        pool.prefixes = PrefixIndex(num_blocks, block_size)
        scheduler.blocks = NotedBlocks(pool)
        self.scheduler, self._sequences, self._plan = scheduler, {}, None
        self._lists: list[list[str]] = [[], []]
        limits = scheduler.limits
        return {
            "max_batch_size": scheduler.max_batch_size,
            "limits": limits and [limits.max_waiting, limits.max_waiting_tokens],
        }

    def arena_step(self, now: float, tokens: list | None, updated: float, arrived: list) -> dict:
        """Take in what the last plan computed, at `updated`; then the requests that arrived or
        ended; then plan. tokens: None if nothing was computed since the last plan."""
        scheduler, blocks = self.scheduler, self.scheduler.blocks
        after = []
        if tokens is not None:
            self._clock.sleep(updated - self._clock.now())
            scheduler.update(self._plan, tokens, updated)
            after = blocks.taken()
            scheduler.blocks.after_pass(self._plan)
        for request in arrived:
            scheduler.add(self._sequence(*request))
        self._clock.sleep(now - self._clock.now())
        self._plan = scheduler.plan(now)
        rows = [
            [row.sequence.request_id, row.num_tokens, row.num_padding_tokens]
            for row in self._plan.rows
        ]
        answer = {"rows": rows, "wake_at": self._plan.wake_at, "after": after}
        refused = [sequence.request_id for sequence in scheduler.take_refused()]
        lists = [
            [sequence.request_id for sequence in some]
            for some in (scheduler.waiting, scheduler.running)
        ]
        if lists != self._lists:
            answer["lists"] = self._lists = lists
        return {**answer, "blocks": blocks.taken(), "refused": refused}

    def _sequence(
        self, name: str, prompt: list, max_tokens: int, arrival: float, client: str
    ) -> object:
        import minibatch as mb

        ids = [token for token, times in prompt for _ in range(times)]
        request = mb.Request(
            ids, max_tokens=max_tokens, arrival_time=arrival, request_id=name, client=client
        )
        self._sequences[name] = mb.Sequence(
            request, name, list(ids), len(ids), self._stop, arrival_time=arrival
        )
        return self._sequences[name]

    def arena_router(self) -> None:
        """Make a router for a new match."""
        self._router, self._route = RouterWorker(), self._find("make_router")().choose

    def arena_route(self, name: str, **asked: Any) -> object:
        """The router's choice. name: not used; the submission's router has one method."""
        return self._router.route(self._route, **asked)


def NotedBlocks(pool: object) -> object:  # noqa: N802 (a class, made here: parts may be withheld)
    """A BlockManager that notes what is done to block tables."""
    from minibatch.memory.block_manager import BlockManager

    class Noted(BlockManager):
        def __init__(self, pool: object) -> None:
            super().__init__(pool)
            self.notes: list[list] = []

        def share(self, sequence: object) -> None:
            self.notes.append(["share", sequence.request_id])
            super().share(sequence)

        def append(self, sequence: object, num_tokens: int) -> None:
            held = len(sequence.block_table)
            super().append(sequence, num_tokens)
            if len(sequence.block_table) > held:
                self.notes.append(["append", sequence.request_id, num_tokens])

        def release(self, sequence: object) -> None:
            self.notes.append(["release", sequence.request_id])
            super().release(sequence)

        def taken(self) -> list[list]:
            """The notes since the last call."""
            notes, self.notes = self.notes, []
            return notes

    return Noted(pool)
