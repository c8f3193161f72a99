"""The search begins at the end of the list, which nothing follows.

caught by: test_a_guess_is_a_list_of_token_ids_and_no_longer_than_asked
code: finds_the_end_itself
"""


def propose(token_ids, most):
    for i in range(len(token_ids) - 1, -1, -1):
        if token_ids[max(0, i - 1) : i + 1] == token_ids[-2:]:
            return token_ids[i + 1 : i + 1 + most]
    return []
