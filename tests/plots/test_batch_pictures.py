"""Pictures of a batch: words in a rectangle, letters in a grid, phases in bars, two areas."""

import matplotlib
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import minibatch as mb
from minibatch.model.rectangle import left_padded
from minibatch.plots import guesses
from minibatch.plots.colours import GUESS, WASTE


class Words:
    """A tokenizer of seven words."""

    def decode(self, ids):
        return ["<|pad|>", "Hotels", "in", "Lisbon", "?", "<|end|>", "Visa"][ids[0]]


@pytest.fixture(autouse=True)
def no_guesses():
    yield
    guesses.forget()


def served(policy, *lengths, clock=None):
    """By a pretend model, three tokens of prompt each."""
    engine = mb.Engine(mb.PretendModel(), policy, clock=clock or mb.VirtualClock(1.0))
    asks = [mb.Request([0] * 3, max_tokens=n, request_id=name) for name, n in
            zip("ABCDEFGH", lengths, strict=False)]  # fmt: skip
    engine.run(asks)
    return engine.trace


def texts(axis):
    return [text.get_text() for text in axis.texts]


def padded():
    return left_padded([[1, 2, 3, 4, 5], [6, 5]], pad_token_id=0)


def fives():
    return served(mb.Static(3), 2, 5, 7, 4, 3)


PICTURES = {
    "rectangle": lambda ax=None: mb.plots.rectangle(Words(), *padded(), ax=ax),
    "token_grid": lambda ax=None: mb.plots.token_grid(fives(), ax=ax),
    "phase_costs": lambda ax=None: mb.plots.phase_costs(
        {"one by one": served(mb.Sequential(), 2, 5, 7), "Static(3)": fives()}, ax=ax
    ),
}


def test_a_rectangle_has_words_in_its_cells_and_numbers_under_them():
    figure = mb.plots.rectangle(Words(), *padded())
    (axis,) = figure.axes
    assert {"Hotels", "Lisbon", "Visa", "end", "3 padding"} <= set(texts(axis))
    assert "pad" not in texts(axis)
    assert texts(axis).count("0") == 2 * 3 + 2  # mask and position of padding, and of first tokens
    assert axis.get_title(loc="left") == "3 of 10 places hold padding: 30 %"
    assert "Hotels in Lisbon ? end; Visa end" in figure.alt


def test_padding_on_the_right_is_drawn_there():
    ids, mask, positions = padded()
    flipped = [tensor.flip(1) for tensor in (ids, mask, positions)]
    (axis,) = mb.plots.rectangle(Words(), *flipped).axes
    waste = matplotlib.colors.to_rgba(WASTE)
    (block,) = [patch for patch in axis.patches if patch.get_facecolor() == waste]
    assert (block.get_x(), block.get_width()) == (2, 3)


def test_a_grid_has_a_letter_for_each_row_and_a_bar_for_padding():
    figure = mb.plots.token_grid(fives())
    (axis,) = figure.axes
    letters = texts(axis)
    assert [letters.count(letter) for letter in "Pdw"] == [5, 16, 14]
    assert sum(bar.get_width() for bar in axis.patches if bar.get_hatch()) == 5 + 2 + 1
    assert axis.get_title(loc="left") == "11 steps, 21 of 29 rows yield a token"


def test_a_grid_without_padding_says_so_and_what_was_guessed():
    guesses.keep("steps", 12)
    traces = {"Static": fives(), "Continuous": served(mb.Continuous(3), 2, 5, 7, 4, 3)}
    static, continuous = mb.plots.token_grid(traces, guess="steps").axes
    assert "your guess:" not in static.get_title(loc="left")
    assert continuous.get_title(loc="left") == (
        "Continuous: 8 steps, every one of 21 rows yields a token; your guess: 12"
    )


def test_phases_are_told_apart_and_padding_is_counted():
    guesses.keep("quicker", 3.5)
    slow, fast = served(mb.Sequential(), 2, 4, 4), served(mb.Static(3), 2, 4, 4)
    figure = mb.plots.phase_costs({"slow": slow, "fast": fast}, unit="steps", guess="quicker")
    (axis,) = figure.axes
    title = axis.get_title(loc="left")
    assert title == "4 steps instead of 10, 2.5 times as fast; your guess: 3.5"
    assert [bar.get_width() for bar in axis.patches] == [3, 7, 1, 3]
    assert (
        "fast: prompts: 1.0 s, 9 tokens; answers: 3.0 s, 3 steps, 9 rows, 2 of them" in figure.alt
    )


def test_the_picture_to_share_has_two_equal_areas_and_the_waste_in_its_title():
    pretend = mb.PretendModel()
    traces = []
    for policy in (mb.Static(8), mb.Continuous(8)):
        engine = mb.Engine(pretend, policy, clock=mb.VirtualClock(1.0))
        engine.run(mb.workload.agents(pretend, n=50, prompt_scale=0.1))
        traces.append(engine.trace)
    figure = mb.plots.same_answers(*traces)
    static, continuous = figure.axes
    assert static.get_title(loc="left") == "Same answers. 5,035 rows nobody reads."
    assert texts(static) == ["static: 1,245 steps"]
    assert texts(continuous) == ["continuous: 710 steps"]
    assert static.get_xlim() == continuous.get_xlim()
    assert static.get_ylim() == continuous.get_ylim()
    for axis in figure.axes:
        edges, heights = axis.patches[0].get_data().edges, axis.patches[0].get_data().values
        widths = [right - left for left, right in zip(edges[:-1], edges[1:], strict=True)]
        assert sum(w * h for w, h in zip(widths, heights, strict=True)) == 4655


def test_the_picture_to_share_refuses_runs_that_say_different_things():
    with pytest.raises(ValueError, match="same answers"):
        mb.plots.same_answers(served(mb.Static(2), 3, 4), served(mb.Continuous(2), 3, 5))


def test_a_staircase_draws_the_curve_that_was_guessed():
    guesses.keep("alive", [(1, 3), (8, 0)])
    (axis,) = mb.plots.staircase(fives(), guess="alive").axes
    (curve,) = [line for line in axis.get_lines() if line.get_color() == GUESS]
    assert list(curve.get_xdata()) == [1, 8]


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_they_have_a_finding_an_alt_text_and_lose_nothing_at_half_size(draw):
    figure = draw()
    (axis,) = figure.axes
    assert axis.get_title(loc="left") in figure.alt
    assert axis.get_xlabel()
    figure.set_dpi(50)
    FigureCanvasAgg(figure).draw()
    width, height = figure.canvas.get_width_height()
    box = axis.get_tightbbox()
    assert box.x0 >= -1
    assert box.y0 >= -1
    assert box.x1 <= width + 1
    assert box.y1 <= height + 1


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_they_can_be_drawn_into_ones_own_axes(draw):
    axis = Figure().subplots()
    assert draw(ax=axis) is axis.figure
