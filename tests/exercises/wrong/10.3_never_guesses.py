"""Guesses nothing, which is never wrong.

caught by: test_a_guess_is_a_list_of_token_ids_and_no_longer_than_asked
code: other_guess
at most: 0 points
"""


def propose(token_ids, most):
    return []
