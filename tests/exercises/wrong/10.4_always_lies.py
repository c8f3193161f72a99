"""Guesses the same token everywhere, as many times as it may.

caught by: test_the_draft_is_a_list_of_at_most_that_many_token_ids
code: other_guess
at most: 0 points
"""


def propose(token_ids, most):
    return [0] * most
