"""The figures of lesson 14: what their titles and alt texts say of the numbers."""

from types import SimpleNamespace

import pytest

import minibatch as mb
from minibatch.plots.guesses import forget


@pytest.fixture(autouse=True)
def no_guesses():
    forget()


def title(figure, panel=0):
    return figure.axes[panel].get_title(loc="left")


SCORES = {"FCFS": 0.4, "fair": 0.7, "mine": 0.6}


def test_a_leaderboard_names_the_first_and_the_learner_s_place():
    figure = mb.plots.leaderboard(SCORES, own="mine")
    assert title(figure) == "fair leads with 0.70; mine is number 2 of 3"
    assert "1. fair 0.700. 2. mine 0.600. 3. FCFS 0.400." in figure.alt
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()][0] == "fair"


def test_a_leaderboard_names_the_policy_that_falls_most_on_hidden_seeds():
    figure = mb.plots.leaderboard(SCORES, {"FCFS": 0.39, "fair": 0.5, "mine": 0.6})
    assert title(figure) == "fair: 0.70 on public seeds, 0.50 on hidden"
    assert "fair 0.700, hidden 0.500" in figure.alt
    moved = [line for line in figure.axes[0].lines if line.get_marker() == "D"]
    assert [list(line.get_xdata()) for line in moved] == [[0.5], []]  # and one in the legend


def test_a_leaderboard_compares_a_lead_with_the_spread_of_the_seeds():
    seeds = {"FCFS": [0.3, 0.5], "fair": [0.65, 0.75], "mine": [0.6, 0.6]}
    figure = mb.plots.leaderboard(SCORES, seeds=seeds)
    assert title(figure) == "fair leads by 0.1000; its seeds differ by 0.100"
    assert "3. FCFS 0.400, seeds 0.300, 0.500." in figure.alt
    numbers = [text.get_text() for text in figure.axes[0].texts]
    assert numbers == ["the oracle", "1", "2", "1,2", "1", "2"]  # equal scores share a place


def test_an_answer_that_stops_for_long_is_late_though_it_began_in_time():
    answers = {"A": [0.5, 0.6, 0.7], "B": [0.5, 1.3, 1.4], "C": []}
    figure = mb.plots.token_deadlines(answers, ttft=1, tpot=0.1)
    assert title(figure) == "Tokens of B are late"
    assert "A: first token after 0.50 s, last after 0.70 s, all in time" in figure.alt
    assert "B: first token after 0.50 s, last after 1.40 s, 2 of 3 tokens late" in figure.alt
    assert "C: no token" in figure.alt


def match_of(*requests, score):
    """An outcome and its score, of (kind, arrival, reason) each."""
    each = [SimpleNamespace(kind=k, arrival=a, reason=reason) for k, a, reason in requests]
    return SimpleNamespace(fates=each), SimpleNamespace(values=each, score=score)


def test_the_values_of_a_match_are_counted_by_kind_and_reason():
    run = match_of(
        ("chat", 0.0, "in time"),
        ("chat", 2.0, "late"),
        ("chat", 1.0, "refused at once"),
        ("document", 1.5, "ten times late"),
        score=0.41,
    )
    figure = mb.plots.request_values({"FCFS": run})
    assert title(figure) == "FCFS: 1 of 4 in time, 1 refused; score 0.41"
    assert "FCFS, chat: 1 in time, 1 refused at once, 1 late." in figure.alt
    assert "FCFS, document: 1 ten times late." in figure.alt
    keys = [text.get_text() for text in figure.legends[0].get_texts()]
    assert keys == ["in time", "refused at once", "late", "ten times late"]


def test_each_reason_has_a_mark_of_its_own():
    from minibatch.plots.figures.request_values import LOOKS

    looks = {(marker, colour) for marker, colour, *_ in LOOKS.values()}
    assert len(looks) == len(LOOKS)


def test_an_ablation_names_the_part_that_is_worth_most():
    figure = mb.plots.ablation({"order": -0.01, "limits": -0.2}, {"order": 0.03, "limits": 0.1})
    assert title(figure) == "Your policy gains most from its limits: 0.200"
    assert "order: in your policy +0.010, in FCFS +0.030" in figure.alt


def test_an_ablation_may_find_no_part_that_is_worth_something():
    figure = mb.plots.ablation({"order": 0.0}, {"order": 0.2})
    assert title(figure) == "No part raises the score of your policy"


def test_an_order_of_policies_may_change_with_the_load():
    scores = {"A": {0.6: 0.9, 1.3: 0.2}, "B": {0.6: 0.8, 1.3: 0.4}}
    figure = mb.plots.scores_by_load(scores)
    assert title(figure) == "The order changes at a load of 1.3: B is first"
    same = mb.plots.scores_by_load({"A": {0.6: 0.9, 1.3: 0.5}, "B": {0.6: 0.8, 1.3: 0.4}})
    assert title(same) == "At a load of 1.3, A has the highest score"
