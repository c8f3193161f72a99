"""Divides by the guesses.

caught by: test_one_token_comes_whatever_was_guessed
code: share_of_the_guesses
"""


def expected_tokens(acceptance_rate, num_guesses):
    return sum(acceptance_rate**i for i in range(num_guesses + 1)) / (num_guesses + 1)
