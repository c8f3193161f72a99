"""Goes on for a term.

caught by: test_each_guess_needs_all_before_it
says: one too many
"""


def expected_tokens(acceptance_rate, num_guesses):
    return float(sum(acceptance_rate**i for i in range(num_guesses + 2)))
