"""`help` tells of every public attribute: by a docstring of its own, or by that of its class."""

import inspect
import re

import pytest

import minibatch as mb


@pytest.fixture(scope="module")
def live(tiny_model):
    """One of each, of an engine that has served and still does."""
    engine = mb.Engine(tiny_model, mb.Continuous(2), num_blocks=8, clock=mb.VirtualClock())
    done = engine.run([mb.Request([5], max_tokens=2)])
    engine.add(mb.Request([5, 6], max_tokens=3))
    record = engine.step()
    [sequence] = engine.scheduler.running
    plan = mb.StepPlan([mb.Row(sequence, 1)])
    event = next(engine.stream([sequence.request]))
    parts = [engine, engine.model, engine.scheduler, engine.pool, engine.clock, engine.trace]
    more = [mb.Sequential(), mb.Static(), mb.Dynamic(), mb.WallClock(), mb.ProcessClock()]
    rows = [*plan.rows, sequence, sequence.request, *record.rows]
    return [*parts, *more, *rows, plan, record, *done, event]


def untold(thing):
    """Public attributes that neither their own docstring nor their class's says a word about."""
    docs = [inspect.getdoc(kind) or "" for kind in type(thing).__mro__ if kind is not object]
    told = set(re.findall(r"\w+", " ".join(docs)))
    for name in dir(thing):
        attribute = inspect.getattr_static(type(thing), name, None)
        is_method = inspect.isroutine(attribute) or isinstance(attribute, property)
        if not name.startswith("_") and not (
            inspect.getdoc(attribute) if is_method else name in told
        ):
            yield name


def test_every_public_attribute_is_told(live):
    missing = {type(thing).__name__: list(untold(thing)) for thing in live}
    assert len(missing) >= 17
    assert {name: attributes for name, attributes in missing.items() if attributes} == {}
