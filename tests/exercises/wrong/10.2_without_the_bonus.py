"""Counts guesses alone, like the guide.

caught by: test_one_token_comes_whatever_was_guessed
code: counts_guesses_alone
"""


def expected_tokens(acceptance_rate, num_guesses):
    return sum(acceptance_rate**i for i in range(1, num_guesses + 1))
