"""Looks at one token only.

caught by: test_a_guess_is_a_list_of_token_ids_and_no_longer_than_asked
code: newest_token_alone
"""


def propose(token_ids, most):
    for i in range(len(token_ids) - 2, -1, -1):
        if token_ids[i] == token_ids[-1]:
            return token_ids[i + 1 : i + 1 + most]
    return []
