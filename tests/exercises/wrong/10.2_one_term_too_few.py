"""Ends a term early.

caught by: test_one_token_comes_whatever_was_guessed
code: one_term_too_few
"""


def expected_tokens(acceptance_rate, num_guesses):
    return sum(acceptance_rate**i for i in range(num_guesses))
