"""The figures of lesson 11: what their titles and alt texts say of the numbers."""

from types import SimpleNamespace

import pytest

import minibatch as mb
from minibatch.core.completion import Completion
from minibatch.plots.guesses import forget


@pytest.fixture(autouse=True)
def no_guesses():
    forget()


def title(figure, panel=0):
    return figure.axes[panel].get_title(loc="left")


def test_a_request_is_measured_from_its_arrival():
    completion = SimpleNamespace(
        arrival_time=10.0, first_scheduled_time=10.2, token_times=[10.5, 10.6, 10.9, 11.0]
    )
    figure = mb.plots.request_times(completion)
    assert title(figure) == "The longest gap is 1.8 times the mean of all gaps"
    assert "longest ITL 300 ms" in figure.alt
    assert "e2e 1,000 ms" in figure.alt
    assert {"arrival_time", "first_scheduled_time", "token_times"} <= set(
        Completion.__dataclass_fields__
    )


def test_two_clocks_sort_by_due_time_and_say_both_medians():
    due, sent, first = [1.0, 0.0], [3.0, 0.0], [4.0, 1.0]
    figure = mb.plots.two_clocks(due, sent, first)
    assert title(figure) == "Median TTFT: 1.00 s from sent, 2.00 s from due"
    assert [bar.get_width() for bar in figure.axes[0].patches] == [0.0, 2.0, 1.0, 1.0]


def test_a_percentile_spreads_less_the_more_requests_a_run_has():
    figure = mb.plots.percentile_spread({1000: [2.0, 2.2], 100: [1.0, 4.0]})
    assert title(figure) == ("With 100 requests, the largest p99 TTFT is 4 times the smallest")
    assert "1.00 to 4.00 s, 1 of 2 left of the line. 1,000 requests" in figure.alt


def test_each_line_of_the_knee_says_its_knee_and_where_it_leaves_the_limit():
    def seeds(tokens, ttft):
        return {"output_tokens_per_s": [tokens] * 3, "ttft_p99_s": [ttft] * 3}

    runs = {
        "Sequential": {1: seeds(100, 5.0), 2: seeds(102, 9.0)},
        "Continuous": {1: seeds(100, 0.1), 2: seeds(200, 10.0)},
    }
    figure = mb.plots.knee(runs, limit_s=1.0)
    assert title(figure) == "Throughput rises up to the knee (ring)"
    assert title(figure, 1) == "Continuous keeps the limit of 1 s up to 1.5 requests/s"
    for axis in figure.axes:
        assert {text.get_text() for text in axis.texts} == {"Sequential", "Continuous"}
    assert "Sequential: knee at or below 1. Continuous: knee at or below 2." in figure.alt
    assert figure.alt.endswith("Sequential: never. Continuous: up to 1.5.")
    never = mb.plots.knee({"A": runs["Sequential"]}, limit_s=1.0)
    assert title(never, 1) == "A does not keep the limit of 1 s at any tested rate"


def test_a_speed_up_is_drawn_over_the_limit_and_the_published_one_with_it():
    figure = mb.plots.ratio_by_target({"batch 8": {100: 40.0, 400: 9.0}}, published=(190, 36.9))
    assert title(figure) == "The speed-up depends on the latency limit"
    assert "9 to 40 × against batch 8" in figure.alt
    words = [text.get_text() for text in figure.axes[0].texts]
    assert words == ["against batch 8", "published: 36.9 ×"]


def test_a_claim_has_its_published_and_its_simulated_ratio():
    row = SimpleNamespace(low=21.4, value=22.3, high=22.5)
    figure = mb.plots.claims({"vLLM / naive": (23, row)})
    assert title(figure) == "0 of 1 simulated ranges contain the published ratio"
    assert "vLLM / naive: published 23 ×, simulated 22.3 × (21.4 to 22.5)" in figure.alt


def test_factors_of_one_product_are_drawn_in_every_order():
    orders = {1: {"own": 4.0, "paged": 3.0}, 2: {"paged": 2.0, "own": 6.0}}
    figure = mb.plots.factors(orders)
    assert title(figure) == "The same product, but each factor depends on the order"
    assert "own 4.0 to 6.0. paged 2.0 to 3.0" in figure.alt
    ends = [bar.get_x() + bar.get_width() for bar in figure.axes[0].patches]
    assert ends == pytest.approx([4.0, 12.0, 2.0, 12.0])
    assert "paged 2.00 × own 6.00" in figure.alt


def test_a_long_title_is_wrapped_inside_its_picture():
    figure = mb.plots.claims({"a claim": (2, SimpleNamespace(low=1.5, value=2, high=3))})
    figure.axes[0].set_title(figure.axes[0].get_title(loc="left") * 4, loc="left")
    figure.canvas.draw()
    edge = figure.axes[0]._left_title.get_window_extent().x1
    assert edge <= figure.bbox.x1
