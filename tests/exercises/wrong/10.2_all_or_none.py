"""Keeps all guesses or none.

caught by: test_each_guess_needs_all_before_it
says: takes all of them or none
"""


def expected_tokens(acceptance_rate, num_guesses):
    return 1 + num_guesses * acceptance_rate**num_guesses
