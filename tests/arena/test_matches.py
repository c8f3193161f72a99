"""Matches: what a policy may see, and that they are the same everywhere."""

import pytest

import minibatch as mb
from minibatch import arena
from minibatch.arena.divisions import ENGINE, StepSeconds
from minibatch.core.plan import Row, StepPlan

FEW = [match for match in arena.matches("engine", (1,)) if match.load == 1.3]


def test_a_match_is_the_same_again_and_another_seed_is_another_match():
    first, again = (arena.Match("engine", "day", 0.9, 1).requests for _ in range(2))
    other = arena.Match("engine", "day", 0.9, "hidden").requests
    assert first == again
    assert [length for _, length in first] != [length for _, length in other]


def test_no_request_tells_the_length_of_its_answer():
    for division in arena.DIVISIONS:
        for match in arena.matches(division, (1,)):
            requests = [request for request, _ in match.requests]
            assert {request.max_tokens for request in requests} == {match.rules.cap}
            assert {request.deadline for request in requests} == {None}
            assert len({request.request_id for request in requests}) == len(requests)
            assert max(length for _, length in match.requests) < match.rules.cap


REST = [pytest.param("engine", name, marks=pytest.mark.full) for name in arena.BASELINES]


@pytest.mark.parametrize(
    ("division", "name"),
    [
        ("engine", "Shortest prompt"),
        *(each for each in REST if each.values[1] != "Shortest prompt"),
        pytest.param("fleet", "Least requests", marks=pytest.mark.full),
    ],
)
def test_public_scores_are_reproducible_to_the_digit(division, name):
    factory = arena.baselines(division)[name]
    outcomes = [arena.play(match, factory) for match in arena.matches(division)]
    found, stored = arena.score(outcomes, arena.marks(division)), arena.public_scores()[division]
    assert found.total == stored["scores"][name]
    assert list(found.by_seed.values()) == stored["by_seed"][name]


def test_no_step_is_faster_than_the_weights_can_be_read():
    seconds = StepSeconds(ENGINE)
    request = mb.Request([0], max_tokens=1)
    sequence = mb.Sequence(request, "A", [0], 1, frozenset(), arrival_time=0.0)
    plan = StepPlan([Row(sequence, 1)])
    assert seconds(plan) > seconds.floor
    seconds.machine = lambda plan: 0.99 * seconds.floor
    with pytest.raises(ValueError, match="the weights alone take"):
        seconds(plan)


def test_stored_marks_are_what_the_oracle_reaches():
    from minibatch.arena.oracle import best

    marks = arena.marks("engine")
    assert {match.key: best(match) for match in FEW[:1]} == {FEW[0].key: marks[FEW[0].key]}


def test_a_router_plays_a_match_of_the_fleet():
    (match,) = (m for m in arena.matches("fleet", (1,)) if (m.mix, m.load) == ("bursts", 1.3))
    marks = {match.key: arena.marks("fleet")[match.key]}
    good, bad = (
        arena.score([arena.play(match, arena.ROUTERS[name])], marks).total
        for name in ("Least requests", "Consistent hash")
    )
    assert bad < good


def test_each_part_of_a_budget_is_explained():
    def mine(size, tokens):
        return mb.Budget(size, tokens, order=mb.schedulers.orders.ShortestPrompt())

    found = arena.explain(mine, FEW, arena.marks("engine"))
    assert list(found.without) == ["order"]
    assert found.without["order"] < 0 < found.alone["order"]
    assert found.without["order"] == pytest.approx(-found.alone["order"])
    assert "late, document" in str(found)
    assert not arena.explain(mb.Continuous, FEW[:1], arena.marks("engine")).without
