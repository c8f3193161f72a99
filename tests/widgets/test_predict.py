"""A question keeps what is said to it when its button is pressed, and never insists."""

import re

import pytest

import minibatch as mb
from minibatch.plots import guesses
from minibatch.widgets.predict import NOT_MOVED


@pytest.fixture(autouse=True)
def _nothing_said():
    guesses.forget()
    yield
    guesses.forget()


def test_a_guess_is_kept_when_the_button_is_pressed_and_can_be_changed():
    question = mb.predict("steps", "How many steps?", 0, 400, "steps")
    question.slider.value = 250
    assert mb.guess("steps") is None
    question.button.click()
    assert mb.guess("steps") == 250
    assert "Your guess: 250 steps." in question.view.value
    question.slider.value = 300
    question.button.click()
    assert mb.guess("steps") == 300


def test_a_cell_run_again_shows_what_was_said():
    guesses.keep("share", 12.5)
    question = mb.predict("share", "Which share?", 0.0, 100.0, "%")
    assert question.slider.value == question.number.value == 12.5
    assert "Your guess: 12.5 %." in question.view.value


def test_whole_numbers_are_asked_for_where_both_ends_are_whole():
    question = mb.predict("n", "?", 1, 4)
    assert "your guess: 1 to 4." in question.view.value
    question.slider.value = 2
    assert isinstance(question.answer, int)
    question = mb.predict("x", "?", 0, 0.5)
    question.slider.value = 0.5
    assert question.answer == 0.5


@pytest.mark.parametrize(("moved", "answer"), [(0, 0), (8, 8), (3.5, 4), (5.5, 6), (4, 4)])
def test_the_first_move_ends_at_a_whole_step(moved, answer):
    question = mb.predict("n", "?", 0, 8)
    assert (question.slider.value, question.slider.step) == (4.5, 0.5)
    question.slider.value = moved
    assert (question.slider.value, question.slider.step) == (answer, 1)


@pytest.mark.parametrize(
    ("low", "high", "step"),
    [(0.5, 8.0, 0.1), (0.0, 4.0, 0.05), (0.0, 5.0, 0.05), (0.5, 1, 0.005), (0.0, 12.0, 0.1),
     (1.0, 5.0, 0.05), (0.0, 100.0, 1.0), (0.25, 4, 0.05)],
)  # fmt: skip
def test_round_numbers_can_be_said_and_both_ends(low, high, step):
    found = mb.predict("x", "?", low, high).step
    assert found == pytest.approx(step)
    assert found * round((high - low) / found) == pytest.approx(high - low)


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (1, "rows", "1 row."),
        (2, "rows", "2 rows."),
        (1, "agents a second", "1 agent a second."),
        (1, "ms", "1 ms."),
        (1, "", "1."),
    ],
)
def test_one_is_said_in_the_singular(value, unit, words):
    question = mb.predict("n", "How many?", 0, 4, unit)
    question.slider.value = value
    question.button.click()
    assert f"Your guess: {words}" in question.view.value
    assert question.unit_label.value == words.removeprefix(f"{value}").strip(" .")


def test_nothing_is_suggested_and_what_was_not_moved_is_not_kept():
    question = mb.predict("steps", "How many steps?", 0, 400)
    assert question.slider.value == 200.5  # no move leads there, so every move is a change
    assert question.button.disabled
    assert NOT_MOVED in question._dom_classes  # its number is not shown
    question.slider.value = 0
    assert not question.button.disabled
    assert NOT_MOVED not in question._dom_classes
    guesses.keep("steps", 7)
    assert not mb.predict("steps", "How many steps?", 0, 400).button.disabled


def test_what_was_said_within_other_ends_is_brought_within_these():
    guesses.keep("n", 900)
    assert mb.predict("n", "?", 0, 400).slider.value == 400


def test_a_curve_is_kept_as_points_and_drawn_as_it_grows():
    question = mb.predict_curve("cost", "Draw it.", (16, 512, 1536), 0, 200, "tokens", "ms")
    assert question.button.disabled  # no slider was moved
    question.sliders[1].value = 50
    assert not question.button.disabled
    assert "0 at 16, 50 at 512, 0 at 1,536" in question.picture.value
    question.button.click()
    assert mb.guess("cost") == [(16, 0), (512, 50), (1536, 0)]
    again = mb.predict_curve("cost", "Draw it.", (16, 512), 0, 200)
    assert [slider.value for slider in again.sliders] == [0, 50]
    assert not again.button.disabled


def test_every_slider_is_given_a_name_and_every_field_has_one():
    question = mb.predict_curve("cost", "Draw it.", (16, 512), 0, 200, "tokens", "ms")
    assert "ms at 512 tokens" in question.children[0].value
    assert [number.description for number in question.numbers] == ["16", "512"]


def test_a_saved_notebook_shows_the_question_without_its_script():
    question = mb.predict("steps", "More than <200>?", 0, 400)
    still = question._repr_mimebundle_()["text/html"]
    assert "More than &lt;200&gt;?" in still
    assert "onerror" not in still


@pytest.mark.parametrize(("log", "middle"), [(True, "311.0"), (False, "126.9")])
def test_a_curve_s_points_stand_as_on_the_axis_that_answers(log, middle):
    question = mb.predict_curve("hits", "Draw it.", (1000, 10_000, 100_000), 0, 100, log=log)
    places = re.findall(r'<circle cx="([\d.]+)"', question.picture.value)
    assert places == ["86.0", middle, "536.0"]


@pytest.mark.parametrize(("low", "high"), [(0.0, 12.0), (0.5, 6.0), (1.0, 4.0), (0, 20)])
def test_a_browser_that_rounds_the_first_position_chooses_nothing(low, high):
    question = mb.predict("rounded-test", "How long?", low, high, "s")
    question.slider.value = round(question.slider.value, 6) + 1e-12
    assert question.button.disabled
    question.slider.value += question.slider.step
    assert not question.button.disabled
