"""A workload for real, simulated, and for real again: its lines and its errors."""

import pytest

import minibatch as mb
from minibatch.bench.held_out import HeldOut, RunTimes
from minibatch.plots.guesses import forget, keep


def run(factor, busy=0.6):
    ttft, finish = (0.5, 0.5, 1.0), (2.0, 5.0, 9.0)
    return RunTimes(
        arrival=(0.0, 1.0, 2.0),
        ttft=tuple(factor * t for t in ttft),
        tpot=(0.1 * factor, None, 0.2 * factor),
        finish=tuple(factor * t for t in finish),
        makespan=9.0 * factor,
        busy=busy,
    )


HELD_OUT = HeldOut((run(1.0), run(1.1)), run(0.9))


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


def test_the_title_says_how_far_the_simulation_is_off_and_how_far_a_real_run():
    title, below = titles(mb.plots.real_and_simulated(HELD_OUT))
    assert title == "The simulation ends 14 % earlier; two real runs differ by 9 %"
    assert below == ""
    exact = HeldOut((run(1.0), run(1.0)), run(1.0))
    title, _ = titles(mb.plots.real_and_simulated(exact))
    assert title == "The simulation ends when a real run does; two real runs differ by 0 %"


def test_each_line_is_a_run_and_counts_its_requests():
    above, below = mb.plots.real_and_simulated(HELD_OUT).axes
    stairs = [line for line in below.lines if len(line.get_xdata()) == 4]
    ends = [line.get_xdata()[-1] for line in stairs]
    assert ends == pytest.approx([8.1, 9.0, 9.9])
    assert list(stairs[0].get_ydata()) == [0, 1, 2, 3]
    firsts = [line.get_xdata()[-1] for line in above.lines if len(line.get_xdata()) == 4]
    assert firsts == pytest.approx([2.9, 3.0, 3.1])


def test_the_corner_has_every_error_its_floor_and_the_load():
    figure = mb.plots.real_and_simulated(HELD_OUT)
    (note,) = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert note.splitlines() == [
        "simulated against real (real against real)",
        "60% busy: makespan −14% (9%), TTFT 14% (9%), TPOT 14% (9%)",
    ]
    assert "TPOT 14% (9%)" in figure.alt


def test_everything_drawn_is_within_the_axes():
    for axis in mb.plots.real_and_simulated(HELD_OUT).axes:
        assert axis.get_xlim()[1] > 9.9
        assert axis.get_ylim()[1] > 3


def test_each_error_has_a_dot_and_the_difference_of_two_real_runs_a_ring():
    keep("error", 30)
    figure = mb.plots.simulation_errors([HELD_OUT], guess="error")
    (title,) = titles(figure)
    assert title == "Largest difference: simulated 14 %, real again 9 %; your guess: 30 %"
    axis = figure.axes[0]
    points = [line for line in axis.lines if line.get_marker() == "o"]
    rings, dots = points[::2], points[1::2]
    found = HELD_OUT.errors
    assert [line.get_xdata()[0] for line in dots] == [100 * abs(e.simulated) for e in found]
    assert [line.get_xdata()[0] for line in rings] == [100 * e.real_again for e in found]
    assert axis.get_xlim()[1] > 30
    assert "60% busy, makespan: 14 % (9 %)" in figure.alt
    forget()
