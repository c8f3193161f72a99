"""Guesses token by token, and what they bring: pictures of lesson 10."""

import pytest
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

import minibatch as mb
from minibatch.plots.colours import WASTE, WORK
from minibatch.simulator.speculation import Prediction


def words(token_ids):
    return " ".join(f"w{i}" for i in token_ids)


def guessing(guess, length=9):
    """One request of a pretend model, which says 0 and nothing else."""
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(1), speculation=guess)
    engine.model.vocab_size = 9
    engine.drafting.vocab_size = 9
    engine.run([mb.Request([0, 0], max_tokens=length, request_id="A")])
    return engine.trace


def title(axis):
    return axis.get_title(loc="left")


def test_guesses_that_are_kept_refused_and_never_judged_look_different():
    trace = guessing(lambda ids, most: [0, 0, 5, 0][:most])
    figure = mb.plots.drafts(trace, words, "A")
    (axis,) = figure.axes
    assert title(axis) == "A: 8 tokens in 3 steps, 5 of 9 draft tokens accepted"
    faces = [to_hex(cell.get_facecolor()).upper() for cell in axis.patches]
    assert faces.count(WORK) == 5 + 3  # three are the model's own
    assert faces.count(WASTE) == 2  # each with its word on it
    assert [cell.get_linestyle() for cell in axis.patches].count(":") == 9 - 5 - 2
    assert "5 of 9" in figure.alt


def test_how_many_steps_are_not_drawn_is_said():
    trace = guessing(lambda ids, most: [0, 0, 5, 0][:most])
    (axis,) = mb.plots.drafts(trace, words, "A", first=1, most=1).axes
    said = [text.get_text() for text in axis.texts]
    assert "… not drawn: 1 step before these and 1 step after these" in said


def test_who_had_no_guesses_has_no_such_picture():
    trace = guessing(lambda ids, most: [])
    with pytest.raises(ValueError, match="'A' had no draft tokens"):
        mb.plots.drafts(trace, words, "A")


def rates(**speed_ups):
    return [Prediction(int(size[1:]), 100.0, 100.0 * s) for size, s in speed_ups.items()]


@pytest.mark.parametrize(
    ("measured", "finding", "until"),
    [
        (
            rates(b1=1.5, b2=1.2, b4=0.8),
            "pays in small batches, but not with 4 sequences",
            "up to about 3",
        ),
        (
            rates(b1=1.5, b2=1.2, b4=1.04),
            "pays in small batches, but not with 4 sequences",
            "up to about 4",
        ),
        (rates(b1=1.08, b2=0.93, b4=0.7), "pays at no measured batch size", "up to about 1"),
        (rates(b1=0.88, b2=0.8, b4=0.7), "pays at no measured batch size", "at no size"),
        (rates(b1=1.5, b2=1.2, b4=1.3), "pays at every measured batch size", "at all sizes"),
    ],
)
def test_the_title_says_where_guesses_pay(measured, finding, until):
    predicted = {"Junior": rates(b1=1.4, b4=0.6, b8=0.1)}
    figure = mb.plots.speculation({"Junior": measured}, predicted)
    (axis,) = figure.axes
    assert title(axis) == f"Guessing {finding}"
    written = [text.get_text() for text in axis.texts]
    assert {f"{measured[0].speed_up:.2f}×", "Junior", until} <= set(written)
    assert f"Junior pays {until}: " in figure.alt


def test_what_is_accepted_and_what_is_drawn_again_sum_to_p():
    figure = mb.plots.accept_or_redraw([0.7, 0.3], [0.4, 0.6])
    left, right = figure.axes
    bars = [[bar for bar in axis.patches if isinstance(bar, Rectangle)] for axis in (left, right)]
    heights = [[round(bar.get_height(), 6) for bar in some] for some in bars]
    assert heights == [[0.4, 0.3, 0.3], [0.4, 0.3, 0.3]]  # the last two: token 1; token 0 again
    assert [round(bar.get_y(), 6) for bar in bars[1]] == [0, 0.4, 0]
    assert "Token 1: proposed 0.6, accepted 0.3, drawn again 0, returned 0.3." in figure.alt
    assert "30% of the draft tokens are rejected." in figure.alt


def test_probabilities_that_are_none_are_refused():
    with pytest.raises(ValueError, match="give two lists of probabilities"):
        mb.plots.accept_or_redraw([0.7, 0.3], [0.4, 0.7])
