"""The figures of lesson 12: what their titles and alt texts say of the numbers."""

import pytest

import minibatch as mb
from minibatch.core.completion import Completion
from minibatch.plots.guesses import forget


@pytest.fixture(autouse=True)
def no_guesses():
    forget()


def title(figure):
    return figure.axes[0].get_title(loc="left")


def completion(token_times, finish_time, reason="length"):
    ids = list(range(len(token_times)))
    return Completion(
        "r", [1], ids, "", reason, 1.0, 1.01, token_times[0], finish_time, token_times, None
    )


def test_a_token_s_way_counts_what_is_outside_the_engine():
    done = completion([1.05, 1.06], 1.06)  # its first step takes 40 ms
    figure = mb.plots.token_way(0.99, 0.995, done, [1.055, 1.065], [1.09, 1.10])
    assert title(figure) == (
        "The client's TTFT is 100.0 ms; 60.0 ms (60 %) are outside the engine's step"
    )
    assert "from the engine to the client: 40.0 to 40.0 ms" in figure.alt


def test_a_hang_up_is_timed_until_the_request_has_ended():
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(1), clock=mb.VirtualClock(2.0))
    name = engine.add(mb.Request([0] * 4, max_tokens=9))
    engine.step()
    engine.step()
    engine.abort(name)
    runs = {"whole prompts": (engine.trace.steps, 2.5, engine.trace.completions[0])}
    figure = mb.plots.hang_up(runs)
    assert title(figure) == "The blocks are freed when the running step has ended"
    assert "Blocks freed after 1.5 s (whole prompts)" in figure.alt


def test_a_hang_up_s_picture_says_when_the_prompts_are_computed():
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(2), clock=mb.VirtualClock(2.0))
    name = engine.add(mb.Request([0] * 4, max_tokens=9))
    engine.step()
    engine.add(mb.Request([0] * 4, max_tokens=2))
    engine.step()
    engine.abort(name)
    engine.step()
    runs = {"whole prompts": (engine.trace.steps, 2.5, engine.trace.completions[0])}
    figure = mb.plots.hang_up(runs)
    assert "The prompts are computed after 1.5 s (whole prompts)." in figure.alt
    assert figure.axes[0].get_xlim()[1] > 6.0 - 2.5  # the run's end


def test_a_request_that_was_not_served_counts_in_every_share():
    figure = mb.plots.cumulative(
        {"without a limit": [1.0, 2.0, 3.0, 4.0], "with a limit": [0.1, None, 0.3, None]}
    )
    assert title(figure) == "Median TTFT: 2.5 s without a limit, infinite with a limit"
    ends = [line.get_ydata()[-1] for line in figure.axes[0].lines if len(line.get_ydata()) > 1]
    assert ends == [100.0, 50.0]
    assert "2 of 4 served" in [text.get_text() for text in figure.axes[0].texts]
    assert "with a limit: 2 of 4 served." in figure.alt
    assert "with a limit (2 of 4 not served)" in [
        text.get_text() for text in figure.legends[0].get_texts()
    ]


def test_a_median_counts_the_requests_that_were_not_served():
    few = mb.plots.cumulative({"with a limit": [0.1, 0.2, 0.3, None]})  # inf is the fourth
    assert title(few) == "Median TTFT: 250 ms with a limit"
    with pytest.raises(ValueError, match="no request was served"):
        mb.plots.cumulative({"with a limit": [None, None]})
