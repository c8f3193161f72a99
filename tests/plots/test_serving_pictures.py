"""Pictures of lesson 4: what they draw is what the records say, and their titles say it."""

import numpy as np
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
def run():
    """In step 21 A2's 80 tokens of prompt join seven requests that compute one token each."""
    return served(mb.Continuous(8))


def titles(figure):
    return [axis.get_title(loc="left") for axis in figure.axes]


def test_a_rectangle_counts_what_it_computes_and_what_of_it_is_padding(run):
    figure = mb.plots.melting(run, 20, 1)
    assert titles(figure) == ["553 of 8 × 80 cells are padding"]
    (axis,) = figure.axes
    assert sum(bar.get_width() for bar in axis.patches if bar.get_hatch()) == 553


def test_on_the_way_no_token_is_lost_and_at_its_end_the_line_has_no_gap(run):
    for stage in (1, 1.25, 1.75, 2):
        (axis,) = mb.plots.melting(run, 20, stage).axes
        tokens = [bar for bar in axis.patches if not bar.get_hatch()]
        assert len(tokens) == 87
    assert sorted(bar.get_x() for bar in tokens) == list(range(87))
    assert {bar.get_y() for bar in tokens} == {-0.43}


def test_the_mask_counts_the_older_keys_too(run):
    (title,) = titles(mb.plots.melting(run, 20, 3))
    cached = [140, 115, 130, 95, 125, 110, 150]  # B to H: prompts, and 20 tokens each
    num_read = sum(cached) + 80 * 81 // 2
    assert f"{num_read:,} of {87 * (sum(cached) + 80):,} pairs" in title


def test_between_the_line_and_the_mask_there_is_no_stage(run):
    with pytest.raises(ValueError, match="give 1, 2 or 3"):
        mb.plots.melting(run, 20, 2.5)


def test_a_drawn_mask_counts_the_pairs_and_names_those_of_two_prompts():
    causal = np.tril(np.ones((5, 5), dtype=bool))
    owner = np.array([0, 0, 0, 1, 1])
    apart = mb.plots.attention_mask(causal & (owner[:, None] == owner), {"B": 3, "D": 2})
    assert titles(apart) == ["No prompt reads another"]
    assert "9 of 25 pairs are allowed" in apart.alt
    assert "D reads D: 3 pairs" in apart.alt
    mixed = mb.plots.attention_mask(causal, {"B": 3, "D": 2})
    assert titles(mixed) == ["6 pairs mix two prompts"]
    assert "D reads B: 6 pairs" in mixed.alt
    with pytest.raises(ValueError, match="give a square"):
        mb.plots.attention_mask(causal, {"B": 3})


def test_a_heartbeat_marks_the_steps_that_compute_a_newcomer_s_prompt():
    seconds = {"decode": 0.01, "prefill": 0.1}
    clock = mb.VirtualClock(lambda plan: max(seconds[row.kind] for row in plan.rows))
    engine = mb.Engine(mb.PretendModel(), mb.Continuous(8), clock=clock)
    engine.run(mb.workload.agents(engine.model, 16, prompt_scale=0.1))
    figure = mb.plots.heartbeat(engine.trace, "H")
    (axis,) = figure.axes
    assert titles(figure) == ["The median gap is 10 ms, the longest is 100 ms"]
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
    assert (
        title == "8 slots instead of 1: 3.3× the tokens/s, each token takes 2.4× as long; "
        "your guess: 8"
    )
    (title,) = titles(mb.plots.tradeoff(TIMES, limit=9))
    assert title == "Within 9 ms per token: 4 slots, 500 tokens/s"
    (title,) = titles(mb.plots.tradeoff(TIMES, limit=2))
    assert title == "No measured number of slots gives a token within 2 ms"


def test_dumbbells_are_multiples_of_the_first_run_with_their_values():
    runs = {"Static": served(mb.Static(4)), "Continuous": served(mb.Continuous(4))}
    figure = mb.plots.dumbbells({name: t.summary() for name, t in runs.items()}, ["num_steps"])
    (axis,) = figure.axes
    before, after = (len(trace.steps) for trace in runs.values())
    assert titles(figure) == [f"steps: Static {before:,}, Continuous {after:,}"]
    assert [text.get_text() for text in axis.texts] == [f"{after:,}"]
    assert axis.texts[0].xy[0] == pytest.approx(after / before)


def test_bytes_read_are_added_up_and_stand_beside_the_weights():
    figure = mb.plots.kv_read([0.5, 2.25, 1.25], weights=19.8)
    assert titles(figure) == ["4 MB of K and V in 3 steps, 2.25 MB at most in one step"]
    assert list(figure.axes[0].patches[0].get_data().values) == [0.5, 2.25, 1.25]
    assert "The weights add 19.8 MB in every step" in figure.alt
