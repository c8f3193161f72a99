"""A pool after each step: the holders of each block, how full it is, and its old content."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..core.records import StepRecord
from ..engine.engine import Engine

UNKNOWN_HOLDER = "somebody"


@dataclass(frozen=True)
class PoolFrame:
    """The pool after one step. tables: block ids by request, in order. tokens: how many tokens of a
    request have K and V. last: the last holder of each block; None if it had none. since: the step
    that last changed its holders. known: the hash of each block that the prefix cache can find."""

    tables: dict[str, tuple[int, ...]] = field(default_factory=dict)
    tokens: dict[str, int] = field(default_factory=dict)
    last: tuple[str | None, ...] = ()
    since: tuple[int, ...] = ()
    known: dict[int, str] = field(default_factory=dict)

    def holders(self) -> dict[int, list[tuple[str, int]]]:
        """For each block in use: its holders, and its index in their tables."""
        found: dict[int, list[tuple[str, int]]] = {}
        for name, table in self.tables.items():
            for index, block_id in enumerate(table):
                found.setdefault(block_id, []).append((name, index))
        return found


class PoolFilm:
    """A film of an engine's pool, from now on. frames[0] is before the first step."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        num_blocks = engine.pool.num_blocks
        self.frames = [PoolFrame(last=(None,) * num_blocks, since=(0,) * num_blocks)]
        self.taken: set[int] = set()  # at any time since the film began
        engine.pool.allocate = self._allocate
        self.frames = [self._frame()]
        engine.on_step(self._note)

    def _allocate(self, num_blocks: int) -> list[int]:
        """The pool's `allocate`, noted: no frame has a request that comes and leaves in one
        step."""
        found = type(self.engine.pool).allocate(self.engine.pool, num_blocks)
        self.taken.update(found)
        return found

    def _note(self, _record: StepRecord) -> None:
        self.frames.append(self._frame())

    def _frame(self) -> PoolFrame:
        before, scheduler = self.frames[-1], self.engine.scheduler
        here = [s for s in (*scheduler.running, *scheduler.waiting) if s.block_table]
        tables = {s.request_id: tuple(s.block_table) for s in here}
        tokens = {s.request_id: s.num_computed_tokens for s in here}
        frame = PoolFrame(tables, tokens)
        last, since, held, old = list(before.last), list(before.since), frame.holders(), None
        if before.tables != tables:
            old = before.holders()
            for block_id in {*held, *old}:
                if held.get(block_id) != old.get(block_id):
                    since[block_id] = len(self.frames)
                if block_id in held:
                    last[block_id] = held[block_id][0][0]
        index = self.engine.pool.prefixes
        known = {} if index is None else {i: index.link_of(i).hash.hex()[:8] for i in index}
        for block_id in self.taken:
            last[block_id] = last[block_id] or UNKNOWN_HOLDER
        return PoolFrame(tables, tokens, tuple(last), tuple(since), known)
