"""What guessing is worth: the formula, and what it makes of measured steps."""

import random

import pytest

from minibatch.simulator.speculation import break_even, pays, predict, speed_up, tokens_a_step


@pytest.mark.parametrize(("rate", "number"), [(0.0, 4), (0.5, 3), (0.8, 4), (1.0, 4), (0.7, 0)])
def test_expected_tokens_are_what_many_steps_put_out(rate, number):
    chance = random.Random(0)

    def step():
        right = 0
        while right < number and chance.random() < rate:
            right += 1
        return right + 1

    many = 20_000
    assert tokens_a_step(rate, number) == pytest.approx(
        sum(step() for _ in range(many)) / many, 0.02
    )


def test_the_published_example_has_its_bonus_token():
    assert round(speed_up(0.8, 4, 0.1), 2) == 2.40


def test_measured_steps_say_where_it_stops_paying():
    step_s = {size: 0.010 + 0.001 * size for size in (1, 2, 8, 5, 10, 40)}
    draft_step_s = dict.fromkeys(step_s, 0.001)
    rates = predict(0.8, 4, step_s, draft_step_s)
    assert [rate.batch_size for rate in rates] == [1, 2, 8]  # those with five times as many rows
    assert rates[0].plain_tokens_per_s == pytest.approx(1 / 0.011)
    assert rates[0].tokens_per_s == pytest.approx(3.3616 / (0.015 + 0.004))
    assert [round(rate.speed_up, 2) for rate in rates] == [1.95, 1.68, 1.12]
    assert break_even(rates) == pytest.approx(8 * 2 ** (2 * 0.12 / 0.56), rel=0.05)
    assert pays(rates) == "at every size up to 8"  # measured; beyond it is only a slope
    assert break_even(predict(0.0, 4, step_s, draft_step_s)) is None
    assert pays(predict(0.0, 4, step_s, draft_step_s)) == "at no size"
    assert predict(1.0, 4, step_s, {})[0].speed_up == pytest.approx(5 * 0.011 / 0.015)
