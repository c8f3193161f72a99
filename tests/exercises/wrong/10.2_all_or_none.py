"""Keeps all guesses or none.

caught by: test_each_guess_needs_all_before_it
code: all_or_none
"""


def expected_tokens(acceptance_rate, num_guesses):
    return 1 + num_guesses * acceptance_rate**num_guesses
