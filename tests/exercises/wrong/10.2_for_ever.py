"""Guesses without end.

caught by: test_one_token_comes_whatever_was_guessed
code: goes_on_for_ever
"""


def expected_tokens(acceptance_rate, num_guesses):
    return 1 / (1 - acceptance_rate)
