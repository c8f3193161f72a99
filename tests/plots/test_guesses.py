"""What was said is drawn where the answer is; what was not is not spoken of."""

import pytest
from matplotlib.figure import Figure

import minibatch as mb
from minibatch.plots import guesses


@pytest.fixture(autouse=True)
def _nothing_said():
    guesses.forget()
    yield
    guesses.forget()


@pytest.fixture
def axis():
    axis = Figure().subplots()
    axis.set_xlim(0, 200)
    axis.set_ylim(0, 10)
    return axis


def texts(axis):
    return [text.get_text() for text in axis.texts]


def test_a_question_that_was_skipped_leaves_no_trace(axis):
    guesses.mark(axis, "steps")
    guesses.mark(axis, None)
    assert not axis.lines
    assert not axis.texts
    assert guesses.said("steps") == guesses.said(None) == ""


def test_a_number_is_a_line_with_its_words(axis):
    guesses.keep("steps", 150)
    guesses.mark(axis, "steps")
    assert list(axis.lines[0].get_xdata()) == [150, 150]
    assert texts(axis) == ["your guess: 150"]
    assert guesses.said("steps") == "; your guess: 150"
    assert guesses.said("steps", "{:.1f} s") == "; your guess: 150.0 s"


def test_a_curve_is_drawn_point_by_point(axis):
    guesses.keep("cost", [[16, 1], [180, 9]])
    guesses.mark(axis, "cost")
    assert axis.lines[0].get_xydata().tolist() == [[16, 1], [180, 9]]
    assert guesses.said("cost") == ""


def test_an_axis_too_short_for_the_guess_is_made_longer(axis):
    guesses.keep("steps", 400)
    guesses.mark(axis, "steps")
    assert axis.get_xlim()[1] > 400
    guesses.keep("cost", [(0, 0), (100, 50)])
    guesses.mark(axis, "cost")
    assert axis.get_ylim()[1] > 50


def test_the_guess_beyond_a_timeline_s_end_is_on_the_picture():
    engine = mb.Engine(mb.PretendModel(), mb.Static(2))
    engine.run([mb.Request([0], max_tokens=20) for _ in range(2)])
    guesses.keep("steps", 50)
    figure = mb.plots.timeline(engine.trace, guess="steps")
    assert figure.axes[0].get_xlim()[1] > 50
    assert figure.axes[0].get_title(loc="left").endswith("; your guess: 50")


@pytest.mark.parametrize(
    ("number", "words"), [(250, "250"), (12345, "12,345"), (12345.6, "12,346"), (0.0534, "0.0534")]
)
def test_numbers_are_written_as_people_write_them(number, words):
    assert guesses.written(number) == words


def test_a_room_says_how_many_came_near(axis):
    figure = mb.room("steps", "250 310 190, 400\n330", truth=320, unit="steps")
    title = figure.axes[0].get_title(loc="left")
    assert title == "5 guesses, median 310; the answer is 320, and 2 came within a tenth"
    assert title in figure.alt
    guesses.mark(axis, "steps")  # the next figure has them as ticks
    (ticks,) = axis.lines
    assert list(ticks.get_xdata()) == [250, 310, 190, 400, 330]
    assert axis.get_xlim() == (0, 200)


def test_a_room_s_guesses_may_come_from_a_file_or_a_list(tmp_path):
    path = tmp_path / "guesses.txt"
    path.write_text("250\n310\n")
    for given in (path, str(path), [250, 310]):
        mb.room("steps", given)
        assert guesses.heard("steps") == [250, 310]


def test_a_room_that_has_not_guessed_yet_is_no_error():
    figure = mb.room("steps", "", truth=320)
    assert figure.axes[0].get_title(loc="left") == "No guesses yet"


def test_one_wild_guess_does_not_squeeze_the_others():
    figure = mb.room("steps", "250 310 99999", truth=320)
    assert figure.axes[0].get_xlim()[1] < 400
    assert figure.axes[0].get_title(loc="left").endswith("; 1 too large to draw")


def test_one_number_or_two_is_asked_back():
    with pytest.raises(ValueError, match='"1,300": one number or several. Write 1300 or 1, 300'):
        mb.room("tokens", "900 1,300")


@pytest.mark.parametrize("word", ["lots", "nan", "250ms"])
def test_what_is_no_number_is_named(word):
    with pytest.raises(ValueError, match=f'"{word}" is neither a number'):
        mb.room("steps", f"250 {word}")
