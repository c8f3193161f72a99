"""Fails where there are fewer than three tokens.

caught by: test_the_draft_is_a_list_of_at_most_that_many_token_ids
code: raises_index_error
"""


def propose(token_ids, most):
    token_ids[-3]
    for n in (3, 2, 1):
        for i in range(len(token_ids) - n - 1, -1, -1):
            if token_ids[i : i + n] == token_ids[-n:]:
                return token_ids[i + n : i + n + most]
    return []
