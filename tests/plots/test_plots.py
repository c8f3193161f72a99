"""Pictures are drawn from records, say what they found, and bring alt text along."""

import re

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import minibatch as mb
from minibatch.plots import guesses
from minibatch.plots.colours import (
    COLOURS,
    DARK,
    GUESS,
    HATCHES,
    PROTAGONISTS,
    WAITS,
    WASTE,
    WORK,
    colour_of,
    ink_on,
)


@pytest.fixture(scope="module")
def traces(tiny_model):
    """Two short requests and a long one, on two slots, under two policies."""
    found = {}
    for scheduler in (mb.Static(2), mb.Continuous(2)):
        engine = mb.Engine(tiny_model, scheduler, attention="gather")
        requests = [
            mb.Request([2, 3, 4], max_tokens=n, ignore_eos=True, request_id=name)
            for name, n in (("A", 20), ("B", 60), ("C", 20))
        ]
        engine.run(requests)
        found[type(scheduler).__name__] = engine.trace
    return found


def bars(axis):
    """(slot, first step, steps, hatch) of every bar drawn."""
    return {
        (round(bar.get_y() + bar.get_height() / 2), bar.get_x(), bar.get_width(), bar.get_hatch())
        for bar in axis.patches
    }


def test_timeline_draws_every_span_in_its_slot(traces):
    static, continuous = mb.plots.timeline(traces).axes
    assert bars(static) == {
        *{
            (0, 0, 1, "////"),
            (0, 1, 19, None),
            (0, 20, 40, HATCHES["padding"]),
        },  # A, then its padding
        *{(1, 0, 1, "////"), (1, 1, 59, None)},  # B
        *{(0, 60, 1, "////"), (0, 61, 19, None)},  # C
    }
    assert bars(continuous) == {
        *{(0, 0, 1, "////"), (0, 1, 19, None)},
        *{(1, 0, 1, "////"), (1, 1, 59, None)},
        *{(0, 20, 1, "////"), (0, 21, 19, None)},
    }


def test_a_timeline_says_what_it_found_in_title_and_alt_text(traces):
    figure = mb.plots.timeline(traces)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles[0] == "Static: 80 steps, 25 % of slots padding"
    assert titles[1] == "Continuous: 60 steps, no padding rows, 17 % of slots empty"
    assert all(title in figure.alt for title in titles)
    (axis,) = mb.plots.timeline(traces["Continuous"], padding=False).axes
    assert axis.get_title(loc="left") == "60 steps, 17 % of slots empty"


def test_a_picture_in_a_notebook_is_an_image_with_alt_text(traces):
    figure = mb.plots.timeline(traces["Static"])
    shown = figure._repr_html_()
    assert shown.startswith('<img src="data:image/svg+xml;base64,')
    assert 'alt="Slots by steps. 80 steps' in shown
    assert '[data-jp-theme-light="false"]' in shown


def test_the_same_run_gives_the_same_file(traces):
    assert mb.plots.timeline(traces).to_svg() == mb.plots.timeline(traces).to_svg()


def test_a_timeline_can_be_drawn_into_ones_own_axes(traces):
    own = Figure()
    FigureCanvasAgg(own)
    axes = list(own.subplots(2, 1))
    assert mb.plots.timeline(traces, ax=axes) is own
    assert all(axis.patches for axis in axes)
    own.canvas.draw()


def test_a_request_keeps_its_colour_and_a_second_of_its_letter_is_paler():
    assert len({colour_of("A"), colour_of("A2"), colour_of("A3")}) == 3
    assert colour_of("A3") == colour_of("A17")
    assert len({colour_of(letter) for letter in "ABCDEFGH"}) == 8
    assert colour_of("request-3") == colour_of("request-11") != colour_of("request-4")
    assert colour_of("someone").startswith("#")


def test_the_one_a_picture_is_about_and_waste_have_colours_of_their_own(traces):
    (static, _) = mb.plots.timeline(traces, highlight=("B",)).axes
    assert {to_hex(bar.get_facecolor()).upper() for bar in static.patches} == {
        *(WORK, WASTE, PROTAGONISTS[0])
    }


def test_a_guess_is_drawn_and_the_title_answers_it(traces):
    guesses.keep("steps", 70)
    try:
        _, continuous = mb.plots.timeline(traces, guess="steps").axes
        assert continuous.get_title(loc="left").endswith("; your guess: 70")
        assert "your guess: 70" in {text.get_text() for text in continuous.texts}
    finally:
        guesses.forget("steps")
    _, continuous = mb.plots.timeline(traces, guess="steps").axes
    assert "your guess:" not in continuous.get_title(loc="left")


def rows_filled(axis):
    """The steps of a staircase: {label: heights}."""
    return {patch.get_label(): list(patch.get_data().values) for patch in axis.patches}


def test_a_staircase_counts_useful_rows_and_all_rows(traces):
    static, continuous = mb.plots.staircase(traces).axes
    useful = [2] * 20 + [1] * 40 + [1] * 20
    assert rows_filled(static)["rows that yield a token"] == useful
    assert rows_filled(static)["padding rows"] == [2] * 60 + [1] * 20
    assert continuous.get_title(loc="left") == "Continuous: every row yields a token"
    assert static.get_title(loc="left") == f"Static: {100 / 1.4:.1f} % of rows yield a token"


def test_waits_are_queue_then_first_then_last_token(traces):
    trace = traces["Static"]
    (axis,) = mb.plots.waits(trace).axes
    bars = [bar for bar in axis.patches if bar.get_width() > 0 or bar.get_hatch() == "..."]
    third = trace.completions[-1]
    assert third.request_id == "C"
    queued, first, rest = bars[6:9]
    assert queued.get_width() == pytest.approx(third.first_scheduled_time - third.arrival_time)
    assert first.get_x() + first.get_width() == pytest.approx(third.ttft)
    assert rest.get_x() + rest.get_width() == pytest.approx(third.e2e)
    assert [label.get_text() for label in axis.get_yticklabels()] == ["A", "B", "C"]


PICTURES = {
    "timeline": lambda t, ax=None: mb.plots.timeline(t["Static"], ax=ax),
    "staircase": lambda t, ax=None: mb.plots.staircase(t["Static"], ax=ax),
    "waits": lambda t, ax=None: mb.plots.waits(t["Static"], ax=ax),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_every_picture_has_a_finding_units_and_alt_text(traces, draw):
    figure = draw(traces)
    (axis,) = figure.axes
    assert len(axis.get_title(loc="left")) > 10
    assert axis.get_xlabel()
    assert axis.get_ylabel()
    assert axis.get_title(loc="left").split("\n")[0] in figure.alt
    assert figure.get_facecolor() == (1, 1, 1, 1)  # a white card, in dark themes too


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_every_picture_can_be_drawn_into_ones_own_axes(traces, draw):
    own = Figure()
    FigureCanvasAgg(own)
    axis = own.subplots()
    assert draw(traces, ax=axis) is own
    assert axis.get_title(loc="left")
    own.canvas.draw()


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_nothing_of_a_picture_is_cut_off_at_half_size(traces, draw):
    figure = draw(traces)
    figure.set_dpi(50)
    FigureCanvasAgg(figure).draw()
    width, height = figure.canvas.get_width_height()
    for axis in figure.axes:
        box = axis.get_tightbbox()
        assert box.x0 >= -1
        assert box.y0 >= -1
        assert box.x1 <= width + 1
        assert box.y1 <= height + 1


def test_axes_too_few_or_too_many_are_refused(traces):
    with pytest.raises(ValueError, match="1 axes given; this picture has 2 panels"):
        mb.plots.timeline(traces, ax=Figure().subplots())


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def in_the_dark(colour):
    """What DARK makes of it: `invert` and `hue-rotate` as Filter Effects 1 defines them."""
    amount = float(re.search(r"invert\((.*?)\)", DARK).group(1))
    assert "hue-rotate(180deg)" in DARK
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    parts = [amount + part * (1 - 2 * amount) for part in parts]
    grey = sum(weight * part for weight, part in zip((0.213, 0.715, 0.072), parts, strict=True))
    turned = (min(max(2 * grey - part, 0), 1) for part in parts)
    return "#" + "".join(f"{round(255 * part):02X}" for part in turned)


@pytest.mark.parametrize("colour", sorted({*COLOURS, *PROTAGONISTS, WORK, WASTE, WAITS, GUESS}))
def test_letters_on_a_colour_can_be_read_in_both_themes(colour):
    for ground, ink in (
        (colour, ink_on(colour)),
        (in_the_dark(colour), in_the_dark(ink_on(colour))),
    ):
        low, high = sorted((luminance(ground), luminance(ink)))
        assert (high + 0.05) / (low + 0.05) >= 4.45


def test_two_plans_are_drawn_with_the_step_where_they_part():
    def run(policy):
        engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(1.0))
        asks = [("A", 2), ("B", 5), ("C", 3)]
        engine.run(mb.Request([0] * 4, max_tokens=n, request_id=name) for name, n in asks)
        return engine.trace

    static, continuous = run(mb.Static(2)), run(mb.Continuous(2))
    figure = mb.plots.plan_difference(static, continuous, names=("Static", "Continuous"))
    assert "The plans differ from step 3 on" in figure.alt
    assert "Static" in figure.alt

    class Mine(mb.Static):
        pass

    same = mb.plots.plan_difference(static, run(Mine(2)))
    assert "The same plan, step for step" in same.alt


def test_a_stand_in_is_not_told_that_its_plan_is_the_same(traces):
    alt = mb.plots.plan_difference(traces["Static"], traces["Static"]).alt
    assert "same plan" not in alt
    assert "Static is used in place of yours" in alt


def test_who_waits_differently_has_no_same_plan():
    def late(max_wait, clock=None):
        class Mine(mb.Dynamic):
            pass

        clock = clock or mb.VirtualClock(step_time=0.025)
        engine = mb.Engine(mb.PretendModel(), Mine(8, max_wait), clock=clock)
        engine.run([mb.Request([0], max_tokens=3, arrival_time=0.1)])
        return engine.trace

    alt = mb.plots.plan_difference(late(0.5), late(0.45)).alt
    assert "The waits differ: step 1 begins at 0.55 s, not 0.6 s" in alt
    measured = [late(0.01, mb.core.clock.WallClock()) for _ in range(2)]
    assert "begins at" not in mb.plots.plan_difference(*measured).alt
