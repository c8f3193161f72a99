"""Goes on for a term.

caught by: test_one_token_comes_whatever_was_guessed
code: one_term_too_many
"""


def expected_tokens(acceptance_rate, num_guesses):
    return float(sum(acceptance_rate**i for i in range(num_guesses + 2)))
