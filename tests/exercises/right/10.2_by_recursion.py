"""A step's own token, and what a right guess leads to."""


def expected_tokens(acceptance_rate, num_guesses):
    if num_guesses == 0:
        return 1.0
    return 1.0 + acceptance_rate * expected_tokens(acceptance_rate, num_guesses - 1)
