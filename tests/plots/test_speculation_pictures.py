"""Guesses token by token, and what they bring: pictures of lesson 10."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

import minibatch as mb
from minibatch.plots.colours import WASTE, WORK
from minibatch.simulator.speculation import Prediction


def words(token_ids):
    return " ".join(f"w{i}" for i in token_ids)


def guessing(guess, length=9):
    """One request of a pretend model, which says 0 and nothing else."""
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(1), speculation=guess)
    engine.model.vocab_size = 9
    engine.guesswork.vocab_size = 9
    engine.run([mb.Request([0, 0], max_tokens=length, request_id="A")])
    return engine.trace


def title(axis):
    return axis.get_title(loc="left")


def test_guesses_that_are_kept_refused_and_never_judged_look_different():
    trace = guessing(lambda ids, most: [0, 0, 5, 0][:most])
    figure = mb.plots.drafts(trace, words, "A")
    (axis,) = figure.axes
    assert title(axis) == "A: 8 tokens in 3 steps: 5 of 9 guesses kept"
    faces = [to_hex(cell.get_facecolor()).upper() for cell in axis.patches]
    assert faces.count(WORK) == 5
    assert faces.count(WASTE) == 2  # each with its word on it
    crossed_out = len(axis.lines)
    assert crossed_out == 9 - 5 - 2
    assert "5 of 9" in figure.alt


def test_who_had_no_guesses_has_no_such_picture():
    trace = guessing(lambda ids, most: [])
    with pytest.raises(ValueError, match="nothing was guessed for 'A'"):
        mb.plots.drafts(trace, words, "A")


def rates(**speed_ups):
    return [Prediction(int(size[1:]), 100.0, 100.0 * s) for size, s in speed_ups.items()]


@pytest.mark.parametrize(
    ("measured", "finding"),
    [
        (rates(b1=1.5, b2=1.2, b4=0.8), "Guessing pays up to a batch of 2 (predicted: 1)"),
        (rates(b1=0.9, b2=0.8, b4=0.7), "Guessing never pays here (predicted: 1)"),
        (rates(b1=1.9, b2=1.8, b4=1.7), "Guessing pays at every size up to 4 (predicted: 1)"),
    ],
)
def test_the_title_says_up_to_where_it_pays(measured, finding):
    figure = mb.plots.speculation(measured, rates(b1=1.4, b2=0.9, b4=0.5, b8=0.1))
    (axis,) = figure.axes
    assert title(axis).startswith(finding)
    faces = [to_hex(bar.get_facecolor()).upper() for bar in axis.patches]
    assert faces.count(WASTE) == sum(rate.speed_up <= 1 for rate in measured)
    FigureCanvasAgg(figure).draw()
    assert all(label.get_text() for label in axis.get_xticklabels())


def test_yours_is_drawn_over_the_bars():
    figure = mb.plots.speculation(rates(b1=1.5, b2=1.2), yours=rates(b2=1.9))
    assert [text.get_text() for text in figure.axes[0].get_legend().get_texts()] == ["yours"]
