"""Matches: what a policy may see, and that they are the same everywhere."""

import pytest

import minibatch as mb
from minibatch import arena

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


def test_public_scores_are_reproducible_to_the_digit():
    name = "Shortest prompt"  # the others play by the same code
    outcomes = [arena.play(match, arena.BASELINES[name]) for match in arena.matches("engine")]
    found, stored = arena.score(outcomes, arena.marks("engine")), arena.public_scores()["engine"]
    assert found.total == stored["scores"][name]
    assert list(found.by_seed.values()) == stored["by_seed"][name]


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
