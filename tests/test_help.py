"""`help` and Shift-Tab tell of every public attribute: by a docstring of its own, or its class's."""

import pytest

import minibatch as mb
from minibatch.model.load import Model


@pytest.fixture(scope="module")
def live():
    """One of each, of an engine that has served and still does."""
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2), clock=mb.VirtualClock())
    done = engine.run([mb.Request([0], max_tokens=2)])
    engine.add(mb.Request([0, 0], max_tokens=3))
    engine.step()
    sequence = engine.scheduler.running[0]
    row = mb.Row(sequence, 1)
    record = engine.trace.steps[-1]
    things = [engine, engine.scheduler, engine.trace, engine.pool, engine.clock, record]
    things += [record.rows[0], row, mb.StepPlan([row]), sequence, sequence.request, done[0]]
    things += [mb.Static(2), mb.Dynamic(2), mb.Sequential(), next(engine.stream([mb.Request([0])]))]
    return {type(thing).__name__: thing for thing in things}


@pytest.mark.parametrize(
    "name",
    [
        "Engine",
        "Continuous",
        "Static",
        "Dynamic",
        "Sequential",
        "Trace",
        "BlockPool",
        "VirtualClock",
    ]
    + ["StepRecord", "RowRecord", "Row", "StepPlan", "Sequence", "Request", "Completion"]
    + ["TokenEvent"],
)
def test_every_public_attribute_is_told(live, name):
    assert list(untold(live[name])) == []


def test_every_public_attribute_of_a_model_is_told(tiny_model):
    assert type(tiny_model) is Model
    assert list(untold(tiny_model)) == []
