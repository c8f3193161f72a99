"""Pictures of batches that wait, leave and run to their end: lesson 03."""

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgba

import minibatch as mb
from minibatch.plots import guesses
from minibatch.plots.batches import batches
from minibatch.plots.colours import COLOURS
from minibatch.simulator.streams import Outcome

ARRIVALS = {"A": 0.0, "B": 1.0, "C": 2.5, "D": 9.0}
LENGTHS = {"A": 2, "B": 4, "C": 1, "D": 3}  # tokens, and seconds


def served(policy):
    requests = [
        mb.Request([0], max_tokens=LENGTHS[name], request_id=name, arrival_time=time)
        for name, time in ARRIVALS.items()
    ]
    engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(1.0))
    engine.run(requests)
    return engine.trace


@pytest.fixture
def trace():
    """A and B leave at 2 s, C when they are back at 6 s, D after its window at 11 s."""
    return served(mb.Dynamic(8, max_wait=2.0))


def title(axis):
    return axis.get_title(loc="left")


def test_a_batch_is_held_back_only_while_the_machine_is_idle(trace):
    first, second, third = batches(trace)
    assert [batch.names for batch in (first, second, third)] == [("A", "B"), ("C",), ("D",)]
    assert (first.opened, first.held_from, first.departed, first.ended) == (0, 0, 2, 6)
    assert (second.opened, second.held_from, second.departed) == (2.5, 6, 6)
    assert (third.opened, third.held_from, third.departed) == (9, 9, 11)
    assert first.useful == 6 / 8


def test_departures_show_padding_queue_and_windows_in_seconds(trace):
    (axis,) = mb.plots.departures(trace).axes
    assert title(axis) == "3 batches of 1 to 2 requests, first token after 3.12 s on average"
    assert axis.get_xlim() == (0, 14)
    window = to_rgba(COLOURS[3])
    areas = [area.get_data() for area in axis.patches if area.get_facecolor() == window]
    spans = [(area.edges[0], area.edges[-1]) for area in areas]
    assert spans == [(0, 2), (9, 11)]  # the machine is idle, and A and B, then D wait
    assert list(areas[0].values - areas[0].baseline) == [1, 2]
    labels = [text.get_text() for text in axis.figure.legends[0].get_texts()]
    assert labels[1] == "padding: waste"
    assert "waits, machine idle" in labels


def test_departures_of_some_seconds_count_only_their_batches(trace):
    (axis,) = mb.plots.departures({"later": trace}, between=(8.0, 14.0)).axes
    assert title(axis) == "later: one batch of 1 request"
    assert axis.get_xlim() == (8, 14)


def test_a_legend_has_only_what_is_drawn(trace):
    figure = mb.plots.departures(trace, between=(8.0, 14.0))  # D waits for its window
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["yields a token", "waits, machine idle"]


def test_departures_name_no_window_where_nobody_is_held_back():
    figure = mb.plots.departures(served(mb.Static(8)))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "waits, a batch runs" in labels
    assert not any("idle" in label for label in labels)


def test_the_axis_of_rows_leaves_out_slots_that_no_batch_of_a_picture_fills(trace):
    few, many = mb.plots.departures({"few": trace, "many": served(mb.Dynamic(32, 2.0))}).axes
    assert few.get_ylim()[1] < 9
    assert many.get_ylim()[1] < 9


def test_the_first_token_of_a_request_is_marked(trace):
    (axis,) = mb.plots.departures(trace, first_token_of="C").axes
    (words,) = (text for text in axis.texts if text.get_text() == "C's first token")
    assert words.xy[0] == 7  # C leaves at 6 s


def test_a_title_answers_what_was_asked_of_the_first_batch(trace):
    guesses.keep("first-test", 3)
    (axis,) = mb.plots.departures(trace, first="size", guess="first-test").axes
    assert title(axis) == "The first batch has 2 requests; your guess: 3"
    (axis,) = mb.plots.departures({"one": trace}, first="departure", guess="first-test").axes
    assert title(axis) == "one: the first batch starts after 2.00 s; your guess: 3"
    assert any(list(line.get_xdata()) == [3, 3] for line in axis.get_lines())
    guesses.forget("first-test")


def test_the_same_departures_are_told_and_later_ones_too(trace):
    def compared(policy, names=("Dynamic", "yours")):
        return mb.plots.departure_difference(trace, served(policy), names=names).alt

    assert compared(mb.Dynamic(8, max_wait=2.0)).startswith("The same agents start at the same")
    assert compared(mb.Dynamic(8, max_wait=2.4)).startswith(
        "Batch 1 differs. Dynamic: A, B at 2.00 s; yours: A, B at 2.40 s."
    )


def test_a_policy_that_stands_in_for_itself_is_not_compared(trace):
    figure = mb.plots.departure_difference(trace, trace, names=("Dynamic", "Dynamic"))
    assert len(figure.axes) == 1
    assert "same" not in figure.alt
    assert "Dynamic, until you have written yours" in figure.alt


def outcomes(*seconds):
    return [Outcome(s, ttft_p99_s=3 * s, machine_s=s / 2) for s in seconds]


def test_a_window_is_sooner_or_later_only_if_nearly_all_streams_agree():
    some = {w: outcomes(*[5.0 + w] * 27, *[5.0 - w / 9] * 3) for w in (0, 1, 2)}
    runs = {
        "later": {0: outcomes(*[5.0] * 30), 1: outcomes(*[5.0] * 30), 2: outcomes(*[6.0] * 30)},
        "sooner once": {w: outcomes(*[abs(1.0 - w) + 1] * 30) for w in (0, 1, 2)},
        "no": some,
    }
    figure = mb.plots.window_curve(runs)
    assert [title(axis) for axis in figure.axes] == [
        "A window of 2 s or more brings later first tokens in 30 of 30 streams",
        "A window of 1 s brings earlier first tokens in 30 of 30 streams",
        "The streams do not agree on any window",
    ]
    assert "99th percentile: 15.00 s without a window" in figure.alt
    machine = mb.plots.window_curve({"later": runs["later"]}, of="machine_s")
    assert "A window of 2 s or more brings more machine time in 30 of 30 streams" in machine.alt


def test_a_guess_of_a_window_stands_on_the_axis_of_windows_and_a_curve_on_both():
    runs = {"load 0.3": {w: outcomes(1.0, 2.0) for w in (0, 1, 2)}}
    guesses.keep("window-test", 1.5)
    (axis,) = mb.plots.window_curve(runs, guess="window-test").axes
    assert any(list(line.get_xdata()) == [1.5, 1.5] for line in axis.get_lines())
    guesses.keep("window-test", [(0, 1.0), (2, 9.0)])
    (axis,) = mb.plots.window_curve(runs, guess="window-test").axes
    assert axis.get_ylim()[1] >= 9
    guesses.forget("window-test")


def test_your_setting_is_a_dot_on_the_curve():
    runs = {"load 0.3": {w: outcomes(1.0, 2.0) for w in (0, 1)}}
    yours = {"load 0.3": (0.5, outcomes(3.0)[0])}
    (axis,) = mb.plots.window_curve(runs, yours=yours).axes
    dot = axis.get_lines()[-1]
    assert (dot.get_xdata()[0], dot.get_ydata()[0]) == (0.5, 3.0)
    assert axis.get_ylim()[1] > 3


def test_rules_are_compared_stream_by_stream_with_the_first():
    runs = {"bursts": {"none": outcomes(2, 2, 2), "mine": outcomes(1, 1, 3)}}
    (axis,) = mb.plots.rules(runs, yours="mine").axes
    assert title(axis) == "mine beats none: 2 of 3"


def test_arrivals_of_the_same_half_second_stand_upon_one_another():
    requests = [mb.Request([0], arrival_time=time) for time in (0.1, 0.2, 0.3, 4.0)]
    (axis,) = mb.plots.arrivals({"some": requests}).axes
    assert title(axis) == "some: 4 agents, at most 3 within half a second"
    assert sorted(line.get_ydata()[0] for line in axis.get_lines()) == [0.5, 0.5, 1.5, 2.5]


DRAWN = {
    "arrivals": lambda t: mb.plots.arrivals({"some": [mb.Request([0], arrival_time=1.0)]}),
    "departures": lambda t: mb.plots.departures({"some": t, "others": t}),
    "window_curve": lambda t: mb.plots.window_curve(
        {name: {w: outcomes(1, 2) for w in (0, 1)} for name in ("load 0.3", "load 0.7", "bursts")}
    ),
    "rules": lambda t: mb.plots.rules({n: {"MyRule": outcomes(1)} for n in "ab"}, yours="MyRule"),
}


def test_titles_of_panels_side_by_side_do_not_overlap():
    by_rule = {"window 0 s": outcomes(*[2] * 30), "MyRule": outcomes(*[1] * 30)}
    runs = {"bursts, load 0.3": by_rule, "independent, load 0.3": by_rule}
    figure = mb.plots.rules(runs, yours="MyRule")
    FigureCanvasAgg(figure).draw()
    left, right = (axis._left_title.get_window_extent() for axis in figure.axes)
    assert left.x1 < right.x0
    assert right.x1 < figure.bbox.x1


@pytest.mark.parametrize("draw", DRAWN.values(), ids=DRAWN)
def test_nothing_of_a_picture_is_cut_off_at_half_size(trace, draw):
    figure = draw(trace)
    figure.set_dpi(50)
    FigureCanvasAgg(figure).draw()
    width, height = figure.canvas.get_width_height()
    for axis in figure.axes:
        box = axis.get_tightbbox()
        assert (box.x0 >= -1, box.y0 >= -1, box.x1 <= width + 1) == (True,) * 3
        assert title(axis).split("\n")[0] in figure.alt
