"""Judges exercises 4.1 to 4.3 by what the learner's policy does, step by step."""

import pytest
from serving import MAX_TOKENS, Ask, asks, drawn, same_plan, serve, served

import minibatch as mb
from minibatch.course.judging.verdict import Wrong

_CONTINUOUS = {"minibatch.schedulers.continuous": "Continuous"}
WITHHELD = {"4.1": _CONTINUOUS, "4.2": _CONTINUOUS}

FIVE = asks(("A", 4, 6), ("B", 7, 2), ("C", 5, 4), ("D", 3, 3), ("E", 6, 5))
PLAN_ONLY = {"update": "Scheduler"}  # 4.1 is judged with update as minibatch has it


class Reserving(mb.Continuous):
    """The expected policy: minibatch's own, taking blocks for the longest answer at once."""

    def can_admit(self):
        return (
            len(self.waiting) > 0
            and len(self.running) < self.max_batch_size
            and self.can_grow(self.waiting[0], self.waiting[0].max_num_tokens)
        )

    def admit(self, now, num_tokens):
        return super().admit(now, self.waiting[0].max_num_tokens)


def plan_with(student, requests, **options):
    return served(student, "MyContinuous", requests, borrowed=PLAN_ONLY, **options)


@pytest.mark.task("4.1", points=1)
def test_whoever_runs_gets_a_row_in_every_step(student):
    engine = plan_with(student, FIVE[:3])
    for number, step in enumerate(engine.trace.steps, 1):
        planned = {row.request_id for row in step.rows}
        alive = {ask.name for ask in FIVE[:3] if ask.answer >= number}
        if planned != alive:
            missing = ", ".join(sorted(alive - planned))
            raise Wrong(
                f"In step {number} {missing} stood still. Everyone who runs takes part in every "
                "step, also while somebody else's prompt is computed.",
                expected=sorted(alive),
                got=sorted(planned),
                drawing=drawn(serve(Reserving(3), FIVE[:3]), engine),
            )
