"""The pictures of overlapped steps: two lanes, and rows after a stop token in a timeline."""

import pytest

import minibatch as mb
from minibatch.plots.colours import WASTE
from minibatch.plots.guesses import forget, keep


@pytest.fixture(autouse=True)
def no_guesses():
    forget()


def trace_of(overlap):
    clock = mb.VirtualClock(0.008, scheduling_time=0.002)
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2), clock=clock, overlap=overlap)
    engine.run([mb.Request([0] * 3, max_tokens=20) for _ in range(2)])
    return engine.trace


@pytest.fixture(scope="module")
def traces():
    return {"in order": trace_of(False), "overlap": trace_of(True)}


def title(axis):
    return axis.get_title(loc="left")


def test_the_model_waits_for_the_cpu_unless_steps_overlap(traces):
    keep("share", 25)
    figure = mb.plots.two_lanes(traces, guess="share")
    in_order, overlap = map(title, figure.axes)
    assert in_order == (
        "in order: 5 steps in 50 ms; the model waits 20 % of the time; your guess: 25 %"
    )
    assert overlap == "overlap: 6 steps in 50 ms; the model waits 0 % of the time"
    assert in_order in figure.alt
    assert overlap in figure.alt


def test_waiting_is_dotted_and_work_carries_the_number_of_its_step(traces):
    figure = mb.plots.two_lanes(traces, first=4, num_steps=3)
    in_order, overlap = figure.axes
    gaps = [bar for bar in in_order.patches if bar.get_hatch() == ".."]
    assert [round(bar.get_width(), 6) for bar in gaps] == [2.0, 2.0, 2.0]
    assert not [bar for bar in overlap.patches if bar.get_hatch() == ".."]
    assert [text.get_text() for text in in_order.texts if text.get_position()[1] == 0] == [*"456"]


def test_a_trace_that_is_too_short_is_refused_with_its_numbers(traces):
    with pytest.raises(ValueError, match="'overlap' has 20 steps, and steps 18 to 23"):
        mb.plots.two_lanes({"overlap": traces["overlap"]}, first=18)


class EndsAtOnce(mb.PretendModel):
    """Every token is its end token."""

    eos_token_ids = frozenset({0})


def test_a_row_after_a_stop_token_is_drawn_as_waste():
    engine = mb.Engine(EndsAtOnce(), mb.Continuous(1), clock=mb.VirtualClock(), overlap=True)
    engine.run([mb.Request([0] * 3, max_tokens=5, request_id="A")])
    figure = mb.plots.timeline(engine.trace)
    assert title(figure.axes[0]).endswith("no padding rows, 1 row after a stop token")
    assert [bar.get_hatch() for bar in figure.axes[0].patches] == ["////", ".."]
    assert figure.axes[0].patches[1].get_facecolor()[:3] == pytest.approx(
        [int(WASTE[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    )
