"""What every place of an engine's pool was good for, step by step, found in what it remembers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.records import MemoryUse, StepRecord

if TYPE_CHECKING:
    from .engine import Engine


def memory_use(engine: Engine) -> list[MemoryUse]:
    """One for each step that the trace keeps, while it ran; together the parts are the pool.

    How long an answer would be is known at its end: a request that still runs counts as if it ended
    now. Nothing is external: any block serves anybody. Raises ValueError where blocks are shared or
    cached, since one place then serves several requests; where tokens were guessed; and where the
    first steps are not kept.
    """
    steps, size = engine.trace.steps, engine.pool.block_size
    guessed = any(row.draft for step in steps for row in step.rows)
    if len(steps) < engine.trace.num_steps or guessed or any(step.sharing for step in steps):
        raise ValueError(
            "memory use needs a trace of every step, of a run without shared blocks and without "
            "draft tokens; this trace is of another run, or incomplete"
        )
    stored = _stored(steps)
    final: dict[tuple[str, int], int] = {}
    for moment in stored:
        final |= moment
    uses = []
    for step, moment in zip(steps, stored, strict=True):
        held = (engine.trace.num_blocks - step.num_free_blocks) * size
        on_demand = sum(_whole(tokens, size) for tokens in moment.values()) == held
        useful = sum(
            min(final[key], _whole(tokens, size)) if on_demand else final[key]
            for key, tokens in moment.items()
        )
        tokens, useful = sum(moment.values()), min(useful, held)
        free = step.num_free_blocks * size
        uses.append(MemoryUse(tokens, useful - tokens, held - useful, 0, free))
    return uses


def _stored(steps: list[StepRecord]) -> list[dict[tuple[str, int], int]]:
    """Tokens stored as each step ends, for everyone who holds blocks in it. A name may be used
    again, so requests are told apart by name and by how many ended under it before."""
    moments, here, ended = [], {}, {}
    for step in steps:
        for name in step.preempted:
            here.pop((name, ended.get(name, 0)), None)
        for row in step.rows:
            is_over = row.kind in ("padding", "wasted")
            key = row.request_id, ended.get(row.request_id, 0) - is_over
            if is_over and key not in here:  # finished, and still holds its blocks
                here[key] = moments[-1].get(key, 0)
            elif not is_over:
                here[key] = here.get(key, 0) + row.num_tokens
        moments.append(dict(here))
        for name in step.finished:
            here.pop((name, ended.get(name, 0)), None)
            ended[name] = ended.get(name, 0) + 1
        here = {key: n for key, n in here.items() if ended.get(key[0], 0) == key[1]}
    return moments


def _whole(tokens: int, block_size: int) -> int:
    return -(-tokens // block_size) * block_size
