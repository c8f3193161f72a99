"""`bench prefix`: counts and order; its times are for people to read."""

from minibatch.bench.prefix_caching import Gain, in_turns, num_common


def test_with_and_without_take_turns_and_the_first_round_is_not_counted():
    asked = []
    rounds = in_turns([lambda caching: asked.append(caching) or 2.0 - caching] * 2, 2)
    assert rounds == [(2.0, 1.0)] * 2
    assert asked == [False, True, True, False, True, False, False, True] + asked[:4]


def test_what_prompts_share_is_counted_from_their_beginning():
    assert num_common([[5, 6, 7, 9], [5, 6, 8, 9], [5, 6, 7]]) == 2


def test_an_aim_is_judged_by_the_median_of_the_rounds():
    gain = Gain("alone", [(3.0, 1.0), (2.0, 1.0), (2.5, 1.0)], least=2.6)
    assert gain.times == 2.5
    assert str(gain).endswith("aim 2.60 or more: missed")
