"""A policy in an engine to which something happens: a forward pass fails, a request is aborted, a
prompt begins like an earlier one."""

from __future__ import annotations

from typing import Any

MOST_STEPS = 200


class PassFailed(Exception):
    """Raised by the model in the steps that are to fail."""


def rows_of_a_run(
    policy: Any,
    requests: list,
    num_blocks: int = 64,
    fails: tuple | list = (),
    aborts: tuple | list = (),
    prefix_caching: bool = False,
) -> list[list]:
    """Serve requests, [name, token ids, answer tokens, arrival] each, with blocks of 4. Returns the
    rows of each step, [name, tokens] in order of names; none of a step that fails.

    fails: numbers of steps, from 1. aborts: [number of the step before which, name] each.
    """
    import minibatch as mb

    number = 0

    class Model(mb.PretendModel):
        vocab_size = 10_000

        def runner(self, pool: object, attention: object) -> Any:
            inner = super().runner(pool, attention)

            class Runner:
                def run(self, plan: Any) -> list[list[int]]:
                    if number in fails:
                        raise PassFailed
                    return inner.run(plan)

            return Runner()

    engine = mb.Engine(
        Model(),
        policy,
        num_blocks=num_blocks,
        block_size=4,
        prefix_caching=prefix_caching,
        attention="reference",  # the others store compiled code on disk
        clock=mb.VirtualClock(step_time=1),
    )
    for name, ids, most, arrival in requests:
        request = mb.Request(ids, max_tokens=most, request_id=name, arrival_time=arrival)
        engine.add(request)
    steps = []
    while engine.has_work:
        number += 1
        if number > MOST_STEPS:
            raise RuntimeError(f"[no_end_to_it] the run has not ended after {MOST_STEPS} steps")
        for before, name in aborts:
            if before == number:
                engine.abort(name)
        try:
            rows = engine.step().rows
        except PassFailed:
            rows = []
        engine.check_invariants()
        steps.append(sorted([row.request_id, row.num_tokens] for row in rows))
    return steps
