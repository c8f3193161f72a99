"""Rounds to two places.

caught by: test_each_draft_token_needs_all_before_it
code: rounds_the_tokens
"""


def expected_tokens(acceptance_rate, num_guesses):
    return round(sum(acceptance_rate**i for i in range(num_guesses + 1)), 2)
