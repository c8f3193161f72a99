"""From what became of each request to a number: each rule of SCORE.md."""

from dataclasses import replace

import pytest

from minibatch.arena import Fate, Mark, Match, Outcome, score
from minibatch.arena.scoring import values_of

MATCH = Match("engine", "day", 0.9, 1)
DUE = Fate("a", "chat-0", "chat", 0.0, 10, 3, "stop", 1.2, 0.0, (1.0, 1.1, 1.2))


def valued(*fates, steps=(), most_refused=9):
    values = values_of(Outcome(MATCH, fates, steps), most_refused)
    return [(each.value, each.reason) for each in values]


@pytest.mark.parametrize(
    ("change", "value", "reason"),
    [
        ({}, 1, "in time"),
        ({"token_times": (0.1, 1.1, 1.2)}, 1, "in time"),
        ({"token_times": (1.01, 1.02, 1.03)}, 0, "late"),
        ({"token_times": (0.1, 1.11, 1.12)}, 0, "late"),
        ({"token_times": (0.1, 0.2, 12.01)}, -0.5, "ten times late"),
        ({"ended": "unfinished", "token_times": (0.1, 0.2)}, -0.5, "unfinished"),
        ({"ended": "refused", "ended_at": 0.3, "token_times": ()}, 0.25, "refused at once"),
        ({"ended": "refused", "ended_at": 0.31, "token_times": ()}, 0, "refused late"),
    ],
)
def test_the_value_of_a_request(change, value, reason):
    assert valued(replace(DUE, **change)) == [(value, reason)]


def test_a_refusal_after_a_long_step_in_flight_is_at_once():
    refused = replace(DUE, arrival=1.0, ended="refused", ended_at=1.5, token_times=())
    assert valued(refused, steps=((0.9, 1.5),)) == [(0.25, "refused at once")]
    assert valued(refused, steps=((0.9, 1.1), (1.1, 1.5))) == [(0, "refused late")]


def test_only_as_many_refusals_are_paid_as_the_oracle_makes():
    refused = replace(DUE, ended="refused", ended_at=0.1, token_times=())
    values = valued(refused, refused, refused, most_refused=2)
    assert [value for value, _ in values] == [0.25, 0.25, 0]


def scored(*fates, points=1.0, error=""):
    return score([Outcome(MATCH, fates, error=error)], {MATCH.key: Mark(points, 0)}).total


def test_every_arrival_is_in_the_denominator():
    late = replace(DUE, token_times=(2.0, 2.1, 2.2))
    assert scored(DUE, late) == 0.5
    assert scored(DUE, late, points=0.5) == 1


def test_one_client_cannot_be_sacrificed():
    other = replace(DUE, client="chat-1", token_times=(2.0, 2.1, 2.2))
    assert scored(DUE, other) == pytest.approx(0.5 * 0.5 / 0.9)  # Jain's index is 1/2


def test_a_match_scores_0_at_least_and_0_after_an_error():
    never = replace(DUE, ended="unfinished")
    assert scored(never, never, DUE) == 0
    assert scored(DUE, error="it died") == 0
