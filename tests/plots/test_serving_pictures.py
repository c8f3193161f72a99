"""Pictures of lesson 4: what they draw is what the records say, and their titles say it."""

import pytest

import minibatch as mb
from minibatch.bench.measure import StepTime
from minibatch.plots import guesses


@pytest.fixture(autouse=True)
def _no_guess_stays():
    yield
    guesses.forget()


def served(policy, n=12):
    engine = mb.Engine(mb.PretendModel(), policy, clock=mb.VirtualClock(0.025))
    engine.run(mb.workload.agents(engine.model, n, prompt_scale=0.1))
    return engine.trace


@pytest.fixture(scope="module")
def step():
    """A2's 80 tokens of prompt join seven who write one token each."""
    return served(mb.Continuous(8)).steps[20]


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


def test_a_rectangle_counts_what_it_computes_and_what_of_it_is_padding(step):
    figure = mb.plots.melting(step, 1)
    assert titles(figure) == ["A rectangle computes 8 × 80 = 640 tokens, 553 of them padding"]
    (axis,) = figure.axes
    padding = [bar.get_width() for bar in axis.patches if bar.get_hatch() == "xx"]
    assert sum(padding) == 553


def test_laid_end_to_end_nothing_is_padding_and_borders_are_where_requests_meet(step):
    (title,) = titles(mb.plots.melting(step, 2))
    assert title == "Laid end to end: 87 tokens, no padding; borders at 1, 2, 3, 4, 5, 6, 7"


def test_a_mask_allows_as_many_pairs_as_its_triangles_hold(step):
    whole, close = titles(mb.plots.melting(step, 3))
    assert whole == f"The mask: {80 * 81 // 2 + 7:,} of {87 * 87:,} pairs are read"


def test_a_mask_can_be_looked_at_when_the_long_row_comes_first():
    first = served(mb.Continuous(8)).steps[0]  # eight prompts at once
    whole, close = mb.plots.melting(first, 3).axes
    assert close.get_xlim()[1] > close.get_xlim()[0]


def test_there_is_no_fourth_stage(step):
    with pytest.raises(ValueError, match="give stage 1, 2 or 3"):
        mb.plots.melting(step, 4)


def test_a_heartbeat_marks_the_steps_that_compute_a_newcomer_s_prompt():
    seconds = {"decode": 0.01, "prefill": 0.1}
    clock = mb.VirtualClock(lambda plan: max(seconds[row.kind] for row in plan.rows))
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(8), clock=clock)
    engine.run(mb.workload.agents(engine.model, 16, prompt_scale=0.1))
    figure = mb.plots.heartbeat(engine.trace, "H")
    (axis,) = figure.axes
    assert titles(figure) == ["The median gap is 10 ms, the longest 100 ms"]
    assert [text.get_text() for text in axis.texts] == [f"{name}2" for name in "ABCDEFGH"]
    stalls = [bar.get_height() for bar in axis.patches if bar.get_hatch()]
    assert stalls == pytest.approx([100] * 8)
    assert len(axis.patches) == 199


def test_a_heartbeat_needs_an_answer_that_has_ended():
    with pytest.raises(ValueError, match="'Z' has not finished"):
        mb.plots.heartbeat(served(mb.Continuous(8)), "Z")


TIMES = [StepTime(n, 200, 0.001 * n, 0.0, 0.004) for n in (1, 2, 4, 8)]


def test_a_trade_off_names_gain_and_price_and_what_fits_a_limit():
    guesses.keep("longer", 8)
    (title,) = titles(mb.plots.tradeoff(TIMES, guess="longer"))
    assert title == "8 slots instead of 1: 3.3× the tokens, each 2.4× as late; you said 8"
    (title,) = titles(mb.plots.tradeoff(TIMES, limit=9))
    assert title == "Within 9 ms a token: 4 slots, 500 tokens/s"
    (title,) = titles(mb.plots.tradeoff(TIMES, limit=2))
    assert title == "Nobody gets a token within 2 ms"


def test_dumbbells_are_multiples_of_the_first_run_with_their_values():
    runs = {"Static": served(mb.Static(4)), "Continuous": served(mb.Continuous(4))}
    figure = mb.plots.dumbbells({name: t.summary() for name, t in runs.items()}, ["num_steps"])
    (axis,) = figure.axes
    before, after = (len(trace.steps) for trace in runs.values())
    assert titles(figure) == [f"steps: Static {before:,}, Continuous {after:,}"]
    assert [text.get_text() for text in axis.texts] == [f"{after:,}"]
    assert axis.texts[0].xy[0] == pytest.approx(after / before)


def test_utilisation_is_the_share_of_slots_that_yield_a_token():
    figure = mb.plots.utilisation(
        {"static": served(mb.Static(8)), "here": served(mb.Continuous(8))}
    )
    static, here = figure.axes
    assert list(static.patches[0].get_data().values)[19:21] == [100, 87.5]  # A ends
    assert here.get_title(loc="left").startswith("here: ")
    assert all(title in figure.alt for title in titles(figure))


def test_bytes_read_are_added_up_and_stand_beside_the_weights():
    figure = mb.plots.kv_read([0.5, 2.25, 1.25], weights=19.8)
    assert titles(figure) == ["4 MB of K and V in 3 steps, 2.25 MB at most in one"]
    assert list(figure.axes[0].patches[0].get_data().values) == [0.5, 2.25, 1.25]
    assert "The weights are 19.8 MB, in every step" in figure.alt
