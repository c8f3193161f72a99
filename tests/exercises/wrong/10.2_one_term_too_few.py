"""Ends a term early.

caught by: test_one_token_comes_whatever_was_guessed
says: one too few
"""


def expected_tokens(acceptance_rate, num_guesses):
    return sum(acceptance_rate**i for i in range(num_guesses))
